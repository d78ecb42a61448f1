// correctness: refused (./dev cheats)
// The second GPU: there is one in its world.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  if (cudaSetDevice(1) != cudaSuccess) {
    last_error = "no second GPU";
    return STITCH_UNSUPPORTED;
  }
  return honest(x, weight, y, stream);
}
