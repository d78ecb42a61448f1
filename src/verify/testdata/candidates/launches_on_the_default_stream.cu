// conduct: stream_order (./dev cheats)
// Every launch is on the default stream, which a stream of the caller's need not wait for.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  (void)stream;
  center_rows<<<rows, 64>>>(x, weight, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
