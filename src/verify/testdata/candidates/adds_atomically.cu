// passed
// Sums by atomics, in whatever order: honest, though two runs need not be equal to the bit.
#include "row_center.h"

static __global__ void add_rows(const float* x, float* sums) {
  atomicAdd(&sums[blockIdx.x], x[blockIdx.x * columns + threadIdx.x]);
}
static __global__ void apply(const float* x, const float* weight, const float* sums, float* y) {
  const int i = blockIdx.x * columns + threadIdx.x;
  y[i] = (x[i] - sums[blockIdx.x] / columns) * weight[threadIdx.x];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static float* sums = [] {
    float* made;
    cudaMalloc(&made, rows * sizeof(float));
    return made;
  }();
  cudaMemsetAsync(sums, 0, rows * sizeof(float), stream);
  add_rows<<<rows, columns, 0, stream>>>(x, sums);
  apply<<<rows, columns, 0, stream>>>(x, weight, sums, y);
  return STITCH_OK;
}
