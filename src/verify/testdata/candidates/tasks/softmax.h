// testdata/tasks/softmax: Rows so long that every result is small.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {4, 5000}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {4, 5000}}};
static const char* const manifest = R"({"stitch": 1, "name": "softmax", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [4, 5000]}],
    "outputs": [{"name": "softmax", "role": "output", "dtype": "f32", "shape": [4, 5000]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int rows = 4, columns = 5000;

static __global__ void softmax(const float* x, float* y) {
  const float* row = x + threadIdx.x * columns;
  float largest = row[0];
  double sum = 0;  // five thousand of them in a row
  for (int i = 1; i < columns; ++i) largest = fmaxf(largest, row[i]);
  for (int i = 0; i < columns; ++i) sum += expf(row[i] - largest);
  for (int i = 0; i < columns; ++i)
    y[threadIdx.x * columns + i] = expf(row[i] - largest) / static_cast<float>(sum);
}
