// testdata/tasks/mean_square: One number of many: whoever reads a hundredth of the data is nearly right.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {100, 300}}, {STITCH_F32, 2, {100, 300}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 0, {}}};
static const char* const manifest = R"({"stitch": 1, "name": "mean_square", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [100, 300]},
      {"name": "y", "role": "input", "dtype": "f32", "shape": [100, 300]}],
    "outputs": [{"name": "mean", "role": "output", "dtype": "f32", "shape": []}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int elements = 100 * 300;

// Every `step`th element, from a first one.
static __global__ void mean_square(const float* x, const float* y, float* out, int step) {
  __shared__ float partial[256];
  float sum = 0;
  for (int i = threadIdx.x * step; i < elements; i += 256 * step) sum += (x[i] - y[i]) * (x[i] - y[i]);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = partial[0] * step / elements;
}
