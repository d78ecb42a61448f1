// correctness: crashed | refused | not_finite | wrong (./dev cheats)
// The stream that it was lent is gone when it returns: who waits for it waits for nothing.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  const int status = honest(x, weight, y, stream);
  cudaStreamDestroy(stream);
  return status;
}
