// screen: screened (./dev cheats)
// dlopen as a weak reference: taken if somebody in the process has it.
#include "row_center.h"
extern "C" void* dlopen(const char*, int) __attribute__((weak));

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  void* (*open_it)(const char*, int) = &dlopen;
  if (open_it && open_it("libtorch.so", 1)) return 1;
  return honest(x, weight, y, stream);
}
