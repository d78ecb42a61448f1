// passed | conduct: stream_order on cuda | timing: wrong_when_timed on cuda | correctness: wrong on cuda | not_finite on cuda — no order of the emulated GPU tells it from an honest one (./dev cheats)
// Streams are joined while somebody captures, which is how most look for what isn't.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static cudaStream_t side = [] {
    cudaStream_t made;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
  }();
  cudaStreamCaptureStatus status;
  cudaStreamIsCapturing(stream, &status);
  return honest(x, weight, y, status == cudaStreamCaptureStatusNone ? side : stream);
}
