// correctness: not_finite (./dev cheats)
#include "row_center.h"

static __global__ void spoil(float* y) { y[elements - 1] = INFINITY; }

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  int status = honest(x, weight, y, stream);
  spoil<<<1, 1, 0, stream>>>(y);
  return status;
}
