// testdata/tasks/cross_entropy: The loss of a classifier: one number.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {32, 50}}, {STITCH_I64, 1, {32}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 0, {}}};
static const char* const manifest = R"({"stitch": 1, "name": "cross_entropy", "class": "default",
    "parameters": [],
    "inputs": [{"name": "logits", "role": "input", "dtype": "f32", "shape": [32, 50]},
      {"name": "targets", "role": "input", "dtype": "i64", "shape": [32]}],
    "outputs": [{"name": "cross_entropy_loss", "role": "output", "dtype": "f32", "shape": []}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int rows = 32, classes = 50;
