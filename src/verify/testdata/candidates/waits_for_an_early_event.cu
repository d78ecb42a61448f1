// conduct: stream_order | timing: wrong_when_timed (./dev cheats)
// The event that the caller's stream waits for is recorded before the work it should stand for.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static cudaStream_t side = [] {
    cudaStream_t made;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
  }();
  static cudaEvent_t parted = [] {
    cudaEvent_t made;
    cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
    return made;
  }();
  static cudaEvent_t met = [] {
    cudaEvent_t made;
    cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
    return made;
  }();
  cudaEventRecord(parted, stream);
  cudaStreamWaitEvent(side, parted, 0);
  cudaEventRecord(met, side);
  center_rows<<<rows, 64, 0, side>>>(x, weight, y);
  cudaStreamWaitEvent(stream, met, 0);
  return STITCH_OK;
}
