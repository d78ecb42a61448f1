// testdata/tasks/two_scales: Large numbers and small ones side by side: beside the large ones the small ones
// are nothing.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {24, 40}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {24, 80}}};
static const char* const manifest = R"({"stitch": 1, "name": "two_scales", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [24, 40]}],
    "outputs": [{"name": "cat", "role": "output", "dtype": "f32", "shape": [24, 80]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int rows = 24, columns = 40;

static __global__ void both_scales(const float* x, float* y, bool small_ones) {
  const float* row = x + threadIdx.x * columns;
  float* to = y + threadIdx.x * 2 * columns;
  float largest = row[0], sum = 0;
  for (int i = 1; i < columns; ++i) largest = fmaxf(largest, row[i]);
  for (int i = 0; i < columns; ++i) sum += expf(row[i] - largest);
  for (int i = 0; i < columns; ++i) {
    to[i] = row[i] * 1e4f;
    to[columns + i] = small_ones ? expf(row[i] - largest) / sum : 0.0f;
  }
}
