// correctness: hung
#include "row_center.h"

static __global__ void spin(volatile float* y) {
  while (y[0] != 1e30f) y[1] = y[1] + 1;
}

static int run(const float*, const float*, float* y, cudaStream_t stream) {
  spin<<<1, 1, 0, stream>>>(y);
  return STITCH_OK;
}
