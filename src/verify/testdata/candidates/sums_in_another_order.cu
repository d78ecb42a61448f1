// passed (./dev cheats)
// From the end to the beginning.
#include "row_center.h"

static __global__ void center_backwards(const float* x, const float* weight, float* y) {
  float sum = 0;
  for (int i = columns - 1; i >= 0; --i) sum += x[blockIdx.x * columns + i];
  const int i = blockIdx.x * columns + threadIdx.x;
  y[i] = (x[i] - sum / columns) * weight[threadIdx.x];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  center_backwards<<<rows, columns, 0, stream>>>(x, weight, y);
  return STITCH_OK;
}
