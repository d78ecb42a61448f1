// testdata/tasks/top_k: The largest few of each row, and where they are.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {9, 70}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {9, 5}}, {STITCH_I64, 2, {9, 5}}};
static const char* const manifest = R"({"stitch": 1, "name": "top_k", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [9, 70]}],
    "outputs": [{"name": "topk_0", "role": "output", "dtype": "f32", "shape": [9, 5]},
      {"name": "topk_1", "role": "output", "dtype": "i64", "shape": [9, 5]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int rows = 9, width = 70;
