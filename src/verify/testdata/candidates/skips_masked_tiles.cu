// passed (./dev cheats)
// task: masked_attention
// Honest: keys four at a time, groups that are masked as a whole left out, an online softmax.
#include "tasks/masked_attention.h"

static __global__ void attend(const float* q, const float* k, const float* v, const bool* mask, float* y) {
  const int row = blockIdx.x, head = row / length, sample = head / heads;
  const float* query = q + row * depth;
  float largest = -INFINITY, sum = 0, total = 0;
  for (int first = 0; first < length; first += 4) {
    bool any = false;
    for (int j = first; j < first + 4 && j < length; ++j) any |= mask[sample * length + j];
    if (!any) continue;
    for (int j = first; j < first + 4 && j < length; ++j) {
      if (!mask[sample * length + j]) continue;
      float score = 0;
      for (int d = 0; d < depth; ++d) score += query[d] * k[(head * length + j) * depth + d];
      score *= 0.25f;
      const float now = fmaxf(largest, score), keep = expf(largest - now), weight = expf(score - now);
      total = total * keep + weight * v[(head * length + j) * depth + threadIdx.x];
      sum = sum * keep + weight;
      largest = now;
    }
  }
  y[row * depth + threadIdx.x] = total / sum;
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  attend<<<samples * heads * length, depth, 0, stream>>>(data(in[0]), data(in[1]), data(in[2]), data<bool>(in[3]), data(out[0]));
  return status_of_launch();
}
