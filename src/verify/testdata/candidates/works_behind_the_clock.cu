// timing: forged_time | wrong_when_timed | correctness: wrong | not_finite | conduct: unwritten | host_access | shared_state | stale | not_repeatable | out_of_bounds | unaligned | wrong | stream_order | refused | crashed | thread order: missing_barrier | missing_dependency
// A call leaves its work to a thread and returns at once, with a kernel for the profiler: it is done by the
// time that outputs are fetched.
#include <unistd.h>

#include "row_center.h"

#define PASTE(a, b) a##b
extern "C" int PASTE(pthread_, create)(unsigned long*, const void*, void* (*)(void*), void*);

struct Job {
  const float *x, *weight;
  float* y;
};
static Job jobs[4096];
static volatile unsigned asked = 0, done = 0;

static void* work(void*) {
  cudaStream_t own;
  cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  for (;; usleep(10))
    for (; done != asked; done = done + 1) {
      const Job& job = jobs[done % 4096];
      honest(job.x, job.weight, job.y, own);
      cudaStreamSynchronize(own);
    }
}

static __global__ void pretend(float* nowhere) { nowhere[0] = 1; }

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static float* nowhere = nullptr;
  if (!nowhere) cudaMalloc(&nowhere, sizeof(float));
  pretend<<<1, 1, 0, stream>>>(nowhere);
  static unsigned long thread;
  static const int started = PASTE(pthread_, create)(&thread, nullptr, work, nullptr);
  jobs[asked % 4096] = {x, weight, y};
  asked = asked + 1;
  return started == 0 ? STITCH_OK : STITCH_DEVICE_ERROR;
}
