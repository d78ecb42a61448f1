// testdata/tasks/two_outputs: A sum and a product: nobody may look at the first alone.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {40, 30}}, {STITCH_F32, 2, {40, 30}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {40, 30}}, {STITCH_F32, 2, {40, 30}}};
static const char* const manifest = R"({"stitch": 1, "name": "two_outputs", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [40, 30]},
      {"name": "y", "role": "input", "dtype": "f32", "shape": [40, 30]}],
    "outputs": [{"name": "add", "role": "output", "dtype": "f32", "shape": [40, 30]},
      {"name": "mul", "role": "output", "dtype": "f32", "shape": [40, 30]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int elements = 40 * 30;

static __global__ void both(const float* x, const float* y, float* sum, float* product) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  if (sum) sum[i] = x[i] + y[i];
  if (product) product[i] = x[i] * y[i];
}
