// conduct: stream_order | timing: wrong_when_timed
// Half of the rows on a stream that waits for the caller's, and that nobody waits for.
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
  cudaEventRecord(parted, stream);
  cudaStreamWaitEvent(side, parted, 0);
  const int half = rows / 2;
  center_rows<<<half, 64, 0, stream>>>(x, weight, y);
  center_rows<<<rows - half, 64, 0, side>>>(x + half * columns, weight, y + half * columns);
  return STITCH_OK;
}
