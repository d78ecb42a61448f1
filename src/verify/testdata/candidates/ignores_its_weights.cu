// correctness: wrong
#include "row_center.h"

static __global__ void fill(float* weight) { weight[threadIdx.x] = 1; }

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static float* ones = nullptr;
  if (!ones) cudaMalloc(&ones, columns * sizeof(float));
  fill<<<1, columns, 0, stream>>>(ones);
  return honest(x, ones, y, stream);
}
