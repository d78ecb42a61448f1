// testdata/tasks/pooling: Maxima of windows, then means of windows that reach over the border.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 4, {2, 5, 17, 15}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 4, {2, 5, 5, 5}}};
static const char* const manifest = R"({"stitch": 1, "name": "pooling", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [2, 5, 17, 15]}],
    "outputs": [{"name": "avg_pool2d", "role": "output", "dtype": "f32", "shape": [2, 5, 5, 5]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int planes = 10, in_h = 17, in_w = 15, mid_h = 9, mid_w = 8, out_h = 5, out_w = 5;
