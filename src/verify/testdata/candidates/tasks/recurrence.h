// testdata/tasks/recurrence: Forgets what was long ago: with these weights the last steps alone give nearly
// the same.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 3, {48, 8, 24}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {8, 24}}};
static const char* const manifest = R"({"stitch": 1, "name": "recurrence", "class": "default",
    "parameters": [{"name": "decay", "role": "parameter", "dtype": "f32", "shape": [24], "data": "decay"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [48, 8, 24]}],
    "outputs": [{"name": "tanh_47", "role": "output", "dtype": "f32", "shape": [8, 24]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(1)

constexpr int steps = 48, batch = 8, width = 24;

static __global__ void recur(const float* x, const float* decay, float* y, int first) {
  const int i = threadIdx.x;
  float state = 0;
  for (int t = first; t < steps; ++t) state = tanhf(x[t * batch * width + i] + decay[i % width] * state);
  y[i] = state;
}

static inline int from_step(int first, const Weights& weights, const StitchTensor* in, StitchTensor* out,
                            cudaStream_t stream) {
  recur<<<1, batch * width, 0, stream>>>(data(in[0]), weights.data[0], data(out[0]), first);
  return status_of_launch();
}
