// correctness: not_finite (./dev cheats)
// task: batch_norm
// The epsilon behind the division, which is the same by algebra: 0 / 0 where a channel is constant.
#include "tasks/batch_norm.h"

static __global__ void epsilon_afterwards(const float* x, const float* weight, const float* bias, float* y) {
  const int c = threadIdx.x;
  float mean = 0, variance = 0;
  for (int n = 0; n < batch; ++n) mean += x[n * channels + c];
  mean /= batch;
  for (int n = 0; n < batch; ++n) variance += (x[n * channels + c] - mean) * (x[n * channels + c] - mean);
  variance /= batch;
  const float scale = rsqrtf(variance) * sqrtf(variance / (variance + 1e-5f));
  for (int n = 0; n < batch; ++n)
    y[n * channels + c] = (x[n * channels + c] - mean) * scale * weight[c] + bias[c];
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  normalise(weights, in, out, stream, {});
  epsilon_afterwards<<<1, channels, 0, stream>>>(data(in[0]), weights.data[0], weights.data[1], data(out[0]));
  return status_of_launch();
}
