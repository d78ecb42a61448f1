// testdata/tasks/attention: Attention in three steps, with a scale.
#pragma once

#include "../any_task.h"

static const Wanted wanted_inputs[] = {
    {STITCH_F32, 4, {2, 3, 21, 16}}, {STITCH_F32, 4, {2, 3, 21, 16}}, {STITCH_F32, 4, {2, 3, 21, 16}}};
static const Wanted wanted_outputs[] = {{STITCH_F32, 4, {2, 3, 21, 16}}};
static const char* const manifest = R"({"stitch": 1, "name": "attention", "class": "default",
    "parameters": [],
    "inputs": [{"name": "q", "role": "input", "dtype": "f32", "shape": [2, 3, 21, 16]},
      {"name": "k", "role": "input", "dtype": "f32", "shape": [2, 3, 21, 16]},
      {"name": "v", "role": "input", "dtype": "f32", "shape": [2, 3, 21, 16]}],
    "outputs": [{"name": "matmul_1", "role": "output", "dtype": "f32", "shape": [2, 3, 21, 16]}],
    "regions": [], "libraries": []})";

CANDIDATE_ABI(0)

constexpr int heads = 6, length = 21, depth = 16;

// One block a query, one thread a feature. Keys beyond `heard` are not heard.
static __global__ void attend(const float* q, const float* k, const float* v, float* y, int heard) {
  __shared__ float scores[length];
  const int head = blockIdx.x / length, from = head * length * depth;
  const float* query = q + blockIdx.x * depth;
  for (int j = threadIdx.x; j < length; j += depth) {
    float sum = 0;
    for (int d = 0; d < depth; ++d) sum += query[d] * k[from + j * depth + d];
    scores[j] = sum * 0.25f;
  }
  __syncthreads();
  float largest = scores[0], sum = 0, out = 0;
  for (int j = 1; j < length; ++j) largest = fmaxf(largest, scores[j]);
  for (int j = 0; j < heard; ++j) {
    const float share = expf(scores[j] - largest);
    sum += share;
    out += share * v[from + j * depth + threadIdx.x];
  }
  y[blockIdx.x * depth + threadIdx.x] = out / sum;
}
