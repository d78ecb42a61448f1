// correctness: wrong
// task: batch_norm
// The mean of squares less the squared mean: nothing but rounding where the mean is far over the deviation.
#include "tasks/batch_norm.h"

static __global__ void in_one_pass(const float* x, const float* weight, const float* bias,
                                   const float* mean_in, const float* variance_in, const int64_t* count_in,
                                   float* y, float* mean_out, float* variance_out, int64_t* count_out) {
  const int c = threadIdx.x;
  float sum = 0, squares = 0;
  for (int n = 0; n < batch; ++n) {
    sum += x[n * channels + c];
    squares += x[n * channels + c] * x[n * channels + c];
  }
  const float mean = sum / batch, variance = fmaxf(squares / batch - mean * mean, 0.0f);
  const float scale = rsqrtf(variance + 1e-5f);
  for (int n = 0; n < batch; ++n)
    y[n * channels + c] = (x[n * channels + c] - mean) * scale * weight[c] + bias[c];
  mean_out[c] = 0.9f * mean_in[c] + 0.1f * mean;
  variance_out[c] = 0.9f * variance_in[c] + 0.1f * variance * batch / (batch - 1);
  if (c == 0) *count_out = *count_in + 1;
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  in_one_pass<<<1, channels, 0, stream>>>(data(in[0]), weights.data[0], weights.data[1], data(in[1]),
                                          data(in[2]), data<int64_t>(in[3]), data(out[0]), data(out[1]),
                                          data(out[2]), data<int64_t>(out[3]));
  return status_of_launch();
}
