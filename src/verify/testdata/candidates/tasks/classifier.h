// testdata/tasks/classifier: A softmax behind a layer: no inputs bring its largest to the end of a row by
// themselves.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {{STITCH_F32, 2, {18, 32}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 2, {18, 70}}};
static const char* const manifest = R"({"stitch": 1, "name": "classifier", "class": "default",
    "parameters": [{"name": "linear.weight", "role": "parameter", "dtype": "f32", "shape": [70, 32], "data": "linear.weight"},
      {"name": "linear.bias", "role": "parameter", "dtype": "f32", "shape": [70], "data": "linear.bias"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [18, 32]}],
    "outputs": [{"name": "softmax", "role": "output", "dtype": "f32", "shape": [18, 70]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(2)

constexpr int rows = 18, width = 32, classes = 70;

// One block a row, one thread a class; the maximum is that of the first `looked_at` classes.
static __global__ void classify(const float* x, const float* weight, const float* bias, float* y,
                                int looked_at) {
  __shared__ float logits[classes];
  float logit = bias[threadIdx.x];
  for (int k = 0; k < width; ++k) logit += x[blockIdx.x * width + k] * weight[threadIdx.x * width + k];
  logits[threadIdx.x] = logit;
  __syncthreads();
  float largest = logits[0], sum = 0;
  for (int i = 1; i < looked_at; ++i) largest = fmaxf(largest, logits[i]);
  for (float other : logits) sum += expf(other - largest);
  y[blockIdx.x * classes + threadIdx.x] = expf(logit - largest) / sum;
}

static inline int classified(int looked_at, const Weights& weights, const StitchTensor* in, StitchTensor* out,
                             cudaStream_t stream) {
  classify<<<rows, classes, 0, stream>>>(data(in[0]), weights.data[0], weights.data[1], data(out[0]),
                                         looked_at);
  return status_of_launch();
}
