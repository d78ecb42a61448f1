// passed (./dev cheats)
// task: softmax
// Five thousand numbers one after the other in FP32.
#include "tasks/softmax.h"

static __global__ void plain_softmax(const float* x, float* y) {
  const float* row = x + threadIdx.x * columns;
  float largest = row[0], sum = 0;
  for (int i = 1; i < columns; ++i) largest = fmaxf(largest, row[i]);
  for (int i = 0; i < columns; ++i) sum += expf(row[i] - largest);
  for (int i = 0; i < columns; ++i) y[threadIdx.x * columns + i] = expf(row[i] - largest) / sum;
}

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  plain_softmax<<<1, rows, 0, stream>>>(data(in[0]), data(out[0]));
  return status_of_launch();
}
