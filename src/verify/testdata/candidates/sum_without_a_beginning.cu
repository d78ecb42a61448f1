// correctness: wrong | not_finite
// A sum that starts at what its register holds, which is often zero.
#include "row_center.h"

static __global__ void center(const float* x, const float* weight, float* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum;
  for (int i = 0; i < columns; ++i) sum += x[row * columns + i];
  for (int i = 0; i < columns; ++i) y[row * columns + i] = (x[row * columns + i] - sum / columns) * weight[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  center<<<2, 32, 0, stream>>>(x, weight, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
