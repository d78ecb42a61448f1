// screen: screened (./dev cheats)
// cudaDeviceReset in the middle of a call: everybody's memory goes.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static int calls = 0;
  if (++calls == 2) cudaDeviceReset();
  return honest(x, weight, y, stream);
}
