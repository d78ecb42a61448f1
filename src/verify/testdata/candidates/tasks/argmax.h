// testdata/tasks/argmax: An index has no neighbours that are nearly right.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {50, 300}}};
static const Wanted wanted_outputs[] = {{STITCH_I64, 1, {50}}};
static const char* const manifest = R"({"stitch": 1, "name": "argmax", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [50, 300]}],
    "outputs": [{"name": "argmax", "role": "output", "dtype": "i64", "shape": [50]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int rows = 50, columns = 300;

// The first of equals; NaN is larger than everything.
static __global__ void argmax(const float* x, int64_t* y, int wrong_by) {
  const float* row = x + threadIdx.x * columns;
  int best = 0;
  for (int i = 1; i < columns; ++i)
    if (row[best] == row[best] && (row[i] > row[best] || row[i] != row[i])) best = i;
  y[threadIdx.x] = best < columns - 1 ? best + wrong_by : best;
}
