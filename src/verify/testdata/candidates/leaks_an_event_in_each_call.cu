// conduct: leaks | passed on cuda — memory there comes in large pieces, and is others' too
// An event that marks the end of each call, and stays.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  const int status = honest(x, weight, y, stream);
  cudaEvent_t end = nullptr;
  if (cudaEventCreate(&end) != cudaSuccess || cudaEventRecord(end, stream) != cudaSuccess)
    return STITCH_DEVICE_ERROR;
  return status;
}
