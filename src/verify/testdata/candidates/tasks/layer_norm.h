// testdata/tasks/layer_norm: A norm whose gain is one and whose shift is zero as made.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {14, 60}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {14, 60}}};
static const char* const manifest = R"({"stitch": 1, "name": "layer_norm", "class": "default",
    "parameters": [{"name": "norm.weight", "role": "parameter", "dtype": "f32", "shape": [60], "data": "norm.weight"},
      {"name": "norm.bias", "role": "parameter", "dtype": "f32", "shape": [60], "data": "norm.bias"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [14, 60]}],
    "outputs": [{"name": "layer_norm", "role": "output", "dtype": "f32", "shape": [14, 60]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(2)

constexpr int rows = 14, width = 60;
