// testdata/tasks/masked_attention: Attention over tokens of which some are padding.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 4, {2, 3, 19, 16}},
                                       {STITCH_F32, 4, {2, 3, 19, 16}},
                                       {STITCH_F32, 4, {2, 3, 19, 16}},
                                       {STITCH_BOOL, 2, {2, 19}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 4, {2, 3, 19, 16}}};
static const char* const manifest = R"({"stitch": 1, "name": "masked_attention", "class": "default",
    "parameters": [],
    "inputs": [{"name": "q", "role": "input", "dtype": "f32", "shape": [2, 3, 19, 16]},
      {"name": "k", "role": "input", "dtype": "f32", "shape": [2, 3, 19, 16]},
      {"name": "v", "role": "input", "dtype": "f32", "shape": [2, 3, 19, 16]},
      {"name": "mask", "role": "input", "dtype": "bool", "shape": [2, 19]}],
    "outputs": [{"name": "matmul_1", "role": "output", "dtype": "f32", "shape": [2, 3, 19, 16]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int samples = 2, heads = 3, length = 19, depth = 16;
