// testdata/tasks/scatter: Rows added up by the group that each belongs to.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {60, 12}}, {STITCH_I64, 1, {60}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {10, 12}}};
static const char* const manifest = R"({"stitch": 1, "name": "scatter", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [60, 12]},
      {"name": "group", "role": "input", "dtype": "i64", "shape": [60]}],
    "outputs": [{"name": "index_add", "role": "output", "dtype": "f32", "shape": [10, 12]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int rows = 60, width = 12, groups = 10;
