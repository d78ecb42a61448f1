// testdata/tasks/conv_norm: Convolution, batch norm and ReLU.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 4, {2, 3, 10, 10}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 4, {2, 8, 10, 10}}};
static const char* const manifest = R"({"stitch": 1, "name": "conv_norm", "class": "default",
    "parameters": [{"name": "conv.weight", "role": "parameter", "dtype": "f32", "shape": [8, 3, 3, 3], "data": "conv.weight"},
      {"name": "conv.bias", "role": "parameter", "dtype": "f32", "shape": [8], "data": "conv.bias"},
      {"name": "norm.weight", "role": "parameter", "dtype": "f32", "shape": [8], "data": "norm.weight"},
      {"name": "norm.bias", "role": "parameter", "dtype": "f32", "shape": [8], "data": "norm.bias"},
      {"name": "norm.running_mean", "role": "buffer", "dtype": "f32", "shape": [8], "data": "norm.running_mean"},
      {"name": "norm.running_var", "role": "buffer", "dtype": "f32", "shape": [8], "data": "norm.running_var"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [2, 3, 10, 10]}],
    "outputs": [{"name": "relu", "role": "output", "dtype": "f32", "shape": [2, 8, 10, 10]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(6)

constexpr int samples = 2, channels = 3, filters = 8, size = 10;
