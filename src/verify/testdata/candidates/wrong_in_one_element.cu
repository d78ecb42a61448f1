// correctness: wrong
#include "row_center.h"

static __global__ void nudge(float* y) { y[elements / 2] += 1e-2f; }

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  int status = honest(x, weight, y, stream);
  nudge<<<1, 1, 0, stream>>>(y);
  return status;
}
