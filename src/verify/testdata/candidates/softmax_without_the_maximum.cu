// correctness: not_finite | wrong
// task: softmax
// e^x overflows beyond 88: right for the task's own inputs.
#include "tasks/softmax.h"

static __global__ void naive_softmax(const float* x, float* y) {
  const float* row = x + threadIdx.x * columns;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += expf(row[i]);
  for (int i = 0; i < columns; ++i) y[threadIdx.x * columns + i] = expf(row[i]) / sum;
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  naive_softmax<<<1, rows, 0, stream>>>(data(in[0]), data(out[0]));
  return status_of_launch();
}
