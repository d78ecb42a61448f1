// passed (./dev cheats)
// Scratch memory in the order of the stream: cudaMallocAsync and cudaFreeAsync.
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
  if (cudaMallocAsync(&means, rows * sizeof(float), stream) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  mean_of_rows<<<1, rows, 0, stream>>>(x, means);
  subtract<<<rows, columns, 0, stream>>>(x, weight, means, y);
  return cudaFreeAsync(means, stream) == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
