// testdata/tasks/unit_rows: Rows of length one: with inputs of one kind the lengths are nearly equal.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {20, 4000}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {20, 4000}}};
static const char* const manifest = R"({"stitch": 1, "name": "unit_rows", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [20, 4000]}],
    "outputs": [{"name": "div", "role": "output", "dtype": "f32", "shape": [20, 4000]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int rows = 20, columns = 4000;

static __global__ void divide(const float* x, float* y, float known_length) {
  const float* row = x + threadIdx.x * columns;
  float sum = 0;
  for (int i = 0; known_length == 0 && i < columns; ++i) sum += row[i] * row[i];
  const float length = known_length == 0 ? sqrtf(sum) : known_length;
  for (int i = 0; i < columns; ++i) y[threadIdx.x * columns + i] = row[i] / length;
}
