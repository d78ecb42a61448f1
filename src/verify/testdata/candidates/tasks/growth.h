// testdata/tasks/growth: A function that exists for small numbers alone: one less than the exponential.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {33, 70}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {33, 70}}};
static const char* const manifest = R"({"stitch": 1, "name": "growth", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [33, 70]}],
    "outputs": [{"name": "expm1", "role": "output", "dtype": "f32", "shape": [33, 70]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int elements = 33 * 70;

// Carefully near zero, or by the exponential.
static __global__ void grow(const float* x, float* y, bool careful) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) y[i] = careful ? expm1f(x[i]) : expf(x[i]) - 1;
}
