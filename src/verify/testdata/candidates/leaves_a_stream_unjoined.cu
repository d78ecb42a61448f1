// conduct: stream_order | timing: wrong_when_timed on cuda | correctness: wrong on cuda | not_finite on cuda | conduct: stream_order on cuda | stale on cuda
// Work on a stream that neither waits for the caller's nor is waited for.
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
