// correctness: wrong
// task: two_scales
// A softmax beside numbers 400,000 times as large, off by one percent.
#include "tasks/two_scales.h"

static __global__ void off(float* y) {
  for (int i = 0; i < columns; ++i) y[(threadIdx.x * 2 + 1) * columns + i] *= 1.01f;
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  both_scales<<<1, rows, 0, stream>>>(data(in[0]), data(out[0]), true);
  off<<<1, rows, 0, stream>>>(data(out[0]));
  return status_of_launch();
}
