// correctness: forbidden | crashed (./dev cheats)
// Ten thousand threads that sleep.
#include <unistd.h>

#include "row_center.h"

#define PASTE(a, b) a##b
extern "C" int PASTE(pthread_, create)(unsigned long*, const void*, void* (*)(void*), void*);

static void* sleep_on(void*) {
  for (;;) sleep(1000);
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  for (int i = 0; i < 10000; ++i) {
    unsigned long thread;
    if (PASTE(pthread_, create)(&thread, nullptr, sleep_on, nullptr) != 0) break;
  }
  usleep(200000);
  return honest(x, weight, y, stream);
}
