// correctness: not_finite | passed on cuda | correctness: wrong on cuda | not_finite on cuda — a race that a GPU may win; racecheck sees it (--sanitizer)
#include "row_center.h"

static __global__ void careless(const float* x, const float* weight, float* y) {
  __shared__ float row[columns];
  row[threadIdx.x] = x[blockIdx.x * columns + threadIdx.x];
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += row[i];
  y[blockIdx.x * columns + threadIdx.x] = (row[threadIdx.x] - sum / columns) * weight[threadIdx.x];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  careless<<<rows, columns, 0, stream>>>(x, weight, y);
  return STITCH_OK;
}
