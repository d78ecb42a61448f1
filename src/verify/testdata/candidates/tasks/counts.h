// testdata/tasks/counts: Integers and booleans.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {14, 37}}};
static const Wanted wanted_outputs[] = {
    {STITCH_I64, 1, {14}}, {STITCH_BOOL, 2, {14, 37}}, {STITCH_I64, 1, {14}}};
static const char* const manifest = R"({"stitch": 1, "name": "counts", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [14, 37]}],
    "outputs": [{"name": "sum_1", "role": "output", "dtype": "i64", "shape": [14]},
      {"name": "gt", "role": "output", "dtype": "bool", "shape": [14, 37]},
      {"name": "argmax", "role": "output", "dtype": "i64", "shape": [14]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int rows = 14, width = 37;
