// testdata/tasks/norm_gelu: Layer norm, then GELU.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 3, {6, 11, 96}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 3, {6, 11, 96}}};
static const char* const manifest = R"({"stitch": 1, "name": "norm_gelu", "class": "default",
    "parameters": [{"name": "norm.weight", "role": "parameter", "dtype": "f32", "shape": [96], "data": "norm.weight"},
      {"name": "norm.bias", "role": "parameter", "dtype": "f32", "shape": [96], "data": "norm.bias"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [6, 11, 96]}],
    "outputs": [{"name": "gelu", "role": "output", "dtype": "f32", "shape": [6, 11, 96]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(2)

constexpr int rows = 66, width = 96;
