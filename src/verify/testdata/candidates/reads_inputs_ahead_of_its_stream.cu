// conduct: stream_order (./dev cheats)
// The host reads the inputs by a copy that doesn't wait for the caller's stream, and sums them up itself.
#include "row_center.h"

static __global__ void subtract(const float* x, const float* weight, const float* means, float* y) {
  const int i = blockIdx.x * columns + threadIdx.x;
  y[i] = (x[i] - means[blockIdx.x]) * weight[threadIdx.x];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static float* means = [] {
    float* made;
    cudaMalloc(&made, rows * sizeof(float));
    return made;
  }();
  static float host[elements], sums[rows];
  cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
  for (int row = 0; row < rows; ++row) {
    sums[row] = 0;
    for (int i = 0; i < columns; ++i) sums[row] += host[row * columns + i] / columns;
  }
  cudaMemcpy(means, sums, sizeof sums, cudaMemcpyHostToDevice);
  subtract<<<rows, columns, 0, stream>>>(x, weight, means, y);
  return STITCH_OK;
}
