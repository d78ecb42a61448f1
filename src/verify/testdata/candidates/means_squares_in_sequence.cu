// passed (./dev cheats)
// task: mean_square
// Thirty thousand squares in FP32: 64 threads one after the other, then their sums by one of them.
#include "tasks/mean_square.h"

static __global__ void plain_mean_square(const float* x, const float* y, float* out) {
  __shared__ float partial[64];
  float sum = 0;
  for (int i = threadIdx.x; i < elements; i += 64) sum += (x[i] - y[i]) * (x[i] - y[i]);
  partial[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < 64; ++i) sum += partial[i];
  *out = sum / elements;
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  plain_mean_square<<<1, 64, 0, stream>>>(data(in[0]), data(in[1]), data(out[0]));
  return status_of_launch();
}
