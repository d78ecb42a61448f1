// conduct: leaks | passed on cuda — the host's memory is counted on the emulated GPU
// A note of every call, never freed.
#include "row_center.h"

static int* volatile note;

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  note = new int[16];
  return honest(x, weight, y, stream);
}
