// correctness: crashed | refused | passed on cuda — undefined there, and often as if it were one barrier
// A barrier in each branch of a condition that the threads of a block don't share.
#include "row_center.h"

static __global__ void center(const float* x, const float* weight, float* y) {
  __shared__ float mean;
  const float* row = x + blockIdx.x * columns;
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += row[i];
    mean = sum / columns;
    __syncthreads();
  } else {
    __syncthreads();
  }
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[blockIdx.x * columns + i] = (row[i] - mean) * weight[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  center<<<rows, 64, 0, stream>>>(x, weight, y);
  return STITCH_OK;
}
