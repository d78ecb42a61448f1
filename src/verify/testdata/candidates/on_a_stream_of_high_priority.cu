// passed (./dev cheats)
// Honest: a stream of its own with a high priority, made once, that waits for the caller's and is waited for.
#include "row_center.h"
static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static cudaStream_t own = nullptr;
  static cudaEvent_t before = nullptr, after = nullptr;
  if (!own) {
    int least = 0, greatest = 0;
    cudaDeviceGetStreamPriorityRange(&least, &greatest);
    cudaStreamCreateWithPriority(&own, cudaStreamNonBlocking, greatest);
    cudaEventCreateWithFlags(&before, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&after, cudaEventDisableTiming);
  }
  cudaEventRecord(before, stream);
  cudaStreamWaitEvent(own, before, 0);
  const int status = honest(x, weight, y, own);
  cudaEventRecord(after, own);
  cudaStreamWaitEvent(stream, after, 0);
  return status;
}
