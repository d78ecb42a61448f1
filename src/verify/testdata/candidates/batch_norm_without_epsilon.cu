// correctness: not_finite (./dev cheats)
// task: batch_norm
// Divides by the deviation alone: right until a channel is constant.
#include "tasks/batch_norm.h"

static __global__ void without_epsilon(const float* x, const float* weight, const float* bias, float* y) {
  const int c = threadIdx.x;
  float mean = 0, variance = 0;
  for (int n = 0; n < batch; ++n) mean += x[n * channels + c];
  mean /= batch;
  for (int n = 0; n < batch; ++n) variance += (x[n * channels + c] - mean) * (x[n * channels + c] - mean);
  const float scale = rsqrtf(variance / batch);
  for (int n = 0; n < batch; ++n)
    y[n * channels + c] = (x[n * channels + c] - mean) * scale * weight[c] + bias[c];
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  normalise(weights, in, out, stream, {});
  // A deviation this size hides an epsilon of 1e-5 from every other kind of inputs' tolerance.
  without_epsilon<<<1, channels, 0, stream>>>(data(in[0]), weights.data[0], weights.data[1], data(out[0]));
  return status_of_launch();
}
