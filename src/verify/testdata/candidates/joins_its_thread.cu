// passed
// A thread that is gone when the call returns.
#include "row_center.h"

#define PASTE(a, b) a##b
extern "C" int PASTE(pthread_, create)(unsigned long*, const void*, void* (*)(void*), void*);
extern "C" int PASTE(pthread_, join)(unsigned long, void**);

static void* add(void* sum) {
  ++*static_cast<int*>(sum);
  return nullptr;
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  unsigned long thread;
  int sum = 0;
  if (PASTE(pthread_, create)(&thread, nullptr, add, &sum) != 0) return STITCH_DEVICE_ERROR;
  PASTE(pthread_, join)(thread, nullptr);
  return sum == 1 ? honest(x, weight, y, stream) : STITCH_DEVICE_ERROR;
}
