// correctness: not_finite (./dev cheats)
// Returns at once; a thread computes a little later.
#include <unistd.h>

#include "row_center.h"

#define PASTE(a, b) a##b
extern "C" int PASTE(pthread_, create)(unsigned long*, const void*, void* (*)(void*), void*);

struct Work {
  const float *x, *weight;
  float* y;
};

static void* later(void* given) {
  usleep(300'000);
  const Work* work = static_cast<const Work*>(given);
  honest(work->x, work->weight, work->y, nullptr);
  return nullptr;
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  unsigned long thread;
  PASTE(pthread_, create)(&thread, nullptr, later, new Work{x, weight, y});
  (void)stream;
  return STITCH_OK;
}
