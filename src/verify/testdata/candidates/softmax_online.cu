// passed (./dev cheats)
// task: softmax
// Maximum and sum in one pass, rescaled as the maximum grows, in plain FP32 and one after the other.
#include "tasks/softmax.h"

static __global__ void online_softmax(const float* x, float* y) {
  const float* row = x + threadIdx.x * columns;
  float largest = -INFINITY, sum = 0;
  for (int i = 0; i < columns; ++i) {
    const float before = largest;
    largest = fmaxf(largest, row[i]);
    sum = sum * expf(before - largest) + expf(row[i] - largest);
  }
  for (int i = 0; i < columns; ++i) y[threadIdx.x * columns + i] = expf(row[i] - largest) / sum;
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  online_softmax<<<1, rows, 0, stream>>>(data(in[0]), data(out[0]));
  return status_of_launch();
}
