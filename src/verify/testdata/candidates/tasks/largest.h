// testdata/tasks/largest: The largest of each row, and rows so long that one of them is never negative.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {24, 900}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 1, {24}}};
static const char* const manifest = R"({"stitch": 1, "name": "largest", "class": "default",
    "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [24, 900]}],
    "outputs": [{"name": "max_1_0", "role": "output", "dtype": "f32", "shape": [24]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int rows = 24, columns = 900;

// One warp a row; `from` is what nothing is smaller than.
static __global__ void largest(const float* x, float* y, float from) {
  float best = from;
  for (int i = threadIdx.x; i < columns; i += 32) {
    const float value = x[blockIdx.x * columns + i];
    best = value > best || value != value ? value : best;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, best, offset);
    best = other > best || other != other ? other : best;
  }
  if (threadIdx.x == 0) y[blockIdx.x] = best;
}

static inline int largest_from(float from, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  largest<<<rows, 32, 0, stream>>>(data(in[0]), data(out[0]), from);
  return status_of_launch();
}
