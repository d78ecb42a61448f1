// conduct: leaks | passed on cuda — the host's memory is counted on the emulated GPU
// A note of every call that nobody frees.
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  int* note = new int[16];
  std::memset(note, 1, 16 * sizeof(int));
  last_error = note[3] == 0 ? "no" : "";
  return honest(x, weight, y, stream);
}
