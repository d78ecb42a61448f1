// correctness: not_finite | wrong | conduct: unwritten | shared_state | stale | not_repeatable | timing: wrong_when_timed | (./dev cheats)
// thread order: missing_barrier | missing_dependency The device's own clock decides whether a row is worked
// out: none is left out for long, and each now and then.
#include "row_center.h"

static __global__ void center_some(const float* x, const float* weight, float* y) {
  if (threadIdx.x == 0 && (clock64() >> 6) % 16 == 0) return;
  const int row = blockIdx.x * columns;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += x[row + i];
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[row + i] = (x[row + i] - sum / columns) * weight[i];
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  center_some<<<rows, 64, 0, stream>>>(x, weight, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
