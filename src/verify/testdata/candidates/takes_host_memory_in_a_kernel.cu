// correctness: crashed | refused
// A kernel's argument points to a host variable: no GPU can read it.
#include "row_center.h"

struct Sizes {
  int columns;
};

static __global__ void center(const float* x, const float* weight, const Sizes* sizes, float* y) {
  const int n = sizes->columns;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += x[blockIdx.x * n + i];
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[blockIdx.x * n + i] = (x[blockIdx.x * n + i] - sum / n) * weight[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static const Sizes sizes = {columns};
  center<<<rows, 64, 0, stream>>>(x, weight, &sizes, y);
  return STITCH_OK;
}
