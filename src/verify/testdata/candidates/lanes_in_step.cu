// correctness: not_finite | wrong | passed on cuda | correctness: wrong on cuda — a GPU may keep them in step (./dev cheats)
// A warp's lanes are taken to go in step, as they did before Volta: shared memory without __syncwarp.
#include "row_center.h"

static __global__ void center_in_step(const float* x, const float* weight, float* y) {
  __shared__ float partial[64];
  const float* row = x + blockIdx.x * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 32) sum += row[i];
  volatile float* part = partial;
  part[threadIdx.x] = sum;
  part[threadIdx.x + 32] = 0;
  for (int half = 16; half > 0; half /= 2) part[threadIdx.x] += part[threadIdx.x + half];
  for (int i = threadIdx.x; i < columns; i += 32)
    y[blockIdx.x * columns + i] = (row[i] - part[0] / columns) * weight[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  center_in_step<<<rows, 32, 0, stream>>>(x, weight, y);
  return STITCH_OK;
}
