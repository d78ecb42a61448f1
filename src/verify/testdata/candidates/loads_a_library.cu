// screen: screened (./dev cheats)
extern "C" void* dlopen(const char*, int);

#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  dlopen("libcublas.so.13", 1);
  return honest(x, weight, y, stream);
}
