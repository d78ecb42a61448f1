// correctness: not_finite
#include "row_center.h"

static __global__ void poison(float* y) { y[0] = nanf(""); }

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  int status = honest(x, weight, y, stream);
  poison<<<1, 1, 0, stream>>>(y);
  return status;
}
