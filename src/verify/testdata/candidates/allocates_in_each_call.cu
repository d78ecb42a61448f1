// passed (./dev cheats)
// Scratch memory from cudaMalloc in every call, freed at its end: slow, and right.
#include "row_center.h"

static __global__ void mean_of_rows(const float* x, float* means) {
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[threadIdx.x * columns + i];
  means[threadIdx.x] = sum / columns;
}
static __global__ void subtract(const float* x, const float* weight, const float* means, float* y) {
  const int i = blockIdx.x * columns + threadIdx.x;
  y[i] = (x[i] - means[blockIdx.x]) * weight[threadIdx.x];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  float* means = nullptr;
  if (cudaMalloc(&means, rows * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  mean_of_rows<<<1, rows, 0, stream>>>(x, means);
  subtract<<<rows, columns, 0, stream>>>(x, weight, means, y);
  cudaStreamSynchronize(stream);
  cudaFree(means);
  return STITCH_OK;
}
