// correctness: out_of_bounds
#include "row_center.h"

static __global__ void step_over(float* y) { y[elements] = 1; }

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  int status = honest(x, weight, y, stream);
  step_over<<<1, 1, 0, stream>>>(y);
  return status;
}
