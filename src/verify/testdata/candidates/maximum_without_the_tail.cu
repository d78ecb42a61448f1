// correctness: not_finite (./dev cheats)
// task: softmax
// Looks for the maximum in whole vectors of 64, and 5000 is no multiple of that: any number near the maximum will do, until
// the one that was missed is far above it.
#include "tasks/softmax.h"

static __global__ void softmax_of_most(const float* x, float* y) {
  const float* row = x + threadIdx.x * columns;
  float largest = row[0], sum = 0;
  for (int i = 1; i < columns / 64 * 64; ++i) largest = fmaxf(largest, row[i]);
  for (int i = 0; i < columns; ++i) sum += expf(row[i] - largest);
  for (int i = 0; i < columns; ++i) y[threadIdx.x * columns + i] = expf(row[i] - largest) / sum;
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  softmax_of_most<<<1, rows, 0, stream>>>(data(in[0]), data(out[0]));
  return status_of_launch();
}
