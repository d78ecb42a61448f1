// passed (./dev cheats)
// Waits at the end of each call, as cautious people do: it can't be captured, and is right.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  if (honest(x, weight, y, stream) != STITCH_OK) return STITCH_DEVICE_ERROR;
  return cudaStreamSynchronize(stream) == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
