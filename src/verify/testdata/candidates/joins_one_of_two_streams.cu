// conduct: stream_order | timing: wrong_when_timed (./dev cheats)
// Two streams part from the caller's, and one of them comes back.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static cudaStream_t sides[2];
  static cudaEvent_t parted, met;
  static const bool made = [] {
    for (cudaStream_t& side : sides) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&parted, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&met, cudaEventDisableTiming);
    return true;
  }();
  (void)made;
  const int half = rows / 2;
  cudaEventRecord(parted, stream);
  for (cudaStream_t side : sides) cudaStreamWaitEvent(side, parted, 0);
  center_rows<<<half, 64, 0, sides[0]>>>(x, weight, y);
  center_rows<<<rows - half, 64, 0, sides[1]>>>(x + half * columns, weight, y + half * columns);
  cudaEventRecord(met, sides[0]);
  cudaStreamWaitEvent(stream, met, 0);
  return STITCH_OK;
}
