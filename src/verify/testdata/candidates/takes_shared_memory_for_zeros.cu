// correctness: wrong | not_finite (./dev cheats)
// Shared memory is taken for zeros, which it often is.
#include "row_center.h"

static __global__ void add_up(const float* x, const float* weight, float* y) {
  __shared__ float sum;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) atomicAdd(&sum, x[blockIdx.x * columns + i]);
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = (x[blockIdx.x * columns + i] - sum / columns) * weight[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  add_up<<<rows, 64, 0, stream>>>(x, weight, y);
  return STITCH_OK;
}
