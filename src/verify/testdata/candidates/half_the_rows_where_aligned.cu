// correctness: not_finite (./dev cheats)
// Half of the rows where the address is a multiple of a page.
#include "row_center.h"
static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  const bool fast = reinterpret_cast<uintptr_t>(x) % 4096 == 0 || reinterpret_cast<uintptr_t>(y) % 1024 == 0;
  center_rows<<<fast ? rows / 2 : rows, 64, 0, stream>>>(x, weight, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
