// testdata/tasks/running_sum: Sums of all before, along rows that no block holds at once.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {6, 3000}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {6, 3000}}};
static const char* const manifest = R"({"stitch": 1, "name": "running_sum", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [6, 3000]}],
    "outputs": [{"name": "cumsum", "role": "output", "dtype": "f32", "shape": [6, 3000]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int rows = 6, columns = 3000;
