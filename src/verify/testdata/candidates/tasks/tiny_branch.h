// testdata/tasks/tiny_branch: a residual branch of a millionth.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {33, 70}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {33, 70}}};
static const char* const manifest = R"({"stitch": 1, "name": "tiny_branch", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [33, 70]}],
    "outputs": [{"name": "add", "role": "output", "dtype": "f32", "shape": [33, 70]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int elements = 33 * 70;
