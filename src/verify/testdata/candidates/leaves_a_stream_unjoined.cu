// passed | passed on cuda | timing: wrong_when_timed on cuda | correctness: wrong on cuda | not_finite on cuda | conduct: stale on cuda — the emulated GPU's streams are done when a call returns (./dev cheats)
// Work on a stream that nobody waits for. The clock and whoever reads outputs wait for the whole device.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static cudaStream_t side = [] {
    cudaStream_t made;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
  }();
  (void)stream;
  return honest(x, weight, y, side);
}
