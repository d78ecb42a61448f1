// testdata/tasks/lstm: The last state of a recurrence by PyTorch's own layer, whose gates forget half of it
// in every step.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 3, {96, 3, 12}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {3, 16}}};
static const char* const manifest = R"({"stitch": 1, "name": "lstm", "class": "default",
    "parameters": [{"name": "lstm.weight_ih_l0", "role": "parameter", "dtype": "f32", "shape": [64, 12], "data": "lstm.weight_ih_l0"},
      {"name": "lstm.weight_hh_l0", "role": "parameter", "dtype": "f32", "shape": [64, 16], "data": "lstm.weight_hh_l0"},
      {"name": "lstm.bias_ih_l0", "role": "parameter", "dtype": "f32", "shape": [64], "data": "lstm.bias_ih_l0"},
      {"name": "lstm.bias_hh_l0", "role": "parameter", "dtype": "f32", "shape": [64], "data": "lstm.bias_hh_l0"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [96, 3, 12]}],
    "outputs": [{"name": "select", "role": "output", "dtype": "f32", "shape": [3, 16]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(4)

constexpr int steps = 96, batch = 3, width = 12, hidden = 16, gates = 4 * hidden;

static __device__ float sigmoid(float x) { return 1 / (1 + expf(-x)); }

// One block a sample, one thread a gate of a unit: i, f, g, o.
static __global__ void recur(const float* x, const float* of_input, const float* of_state, const float* bias,
                             const float* state_bias, float* y, int first) {
  __shared__ float state[hidden], cell[hidden], gate[gates];
  const int thread = threadIdx.x;
  if (thread < hidden) state[thread] = cell[thread] = 0;
  __syncthreads();
  for (int t = first; t < steps; ++t) {
    float sum = bias[thread] + state_bias[thread];
    for (int k = 0; k < width; ++k)
      sum += x[(t * batch + blockIdx.x) * width + k] * of_input[thread * width + k];
    for (int k = 0; k < hidden; ++k) sum += state[k] * of_state[thread * hidden + k];
    gate[thread] = thread / hidden == 2 ? tanhf(sum) : sigmoid(sum);
    __syncthreads();
    if (thread < hidden) {
      cell[thread] = gate[hidden + thread] * cell[thread] + gate[thread] * gate[2 * hidden + thread];
      state[thread] = gate[3 * hidden + thread] * tanhf(cell[thread]);
    }
    __syncthreads();
  }
  if (thread < hidden) y[blockIdx.x * hidden + thread] = state[thread];
}

static inline int from_step(int first, const Weights& weights, const StitchTensor* in, StitchTensor* out,
                            cudaStream_t stream) {
  recur<<<batch, gates, 0, stream>>>(data(in[0]), weights.data[0], weights.data[1], weights.data[2],
                                     weights.data[3], data(out[0]), first);
  return status_of_launch();
}
