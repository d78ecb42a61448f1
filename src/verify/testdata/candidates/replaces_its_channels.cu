// correctness: left_early (./dev cheats)
// Puts a pipe of its own in the place of the Verifier's.
#include <unistd.h>

#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  int ends[2];
  if (pipe(ends) == 0)
    for (int channel = 3; channel < 16; ++channel)
      if (channel != ends[0] && channel != ends[1]) dup2(ends[1], channel);
  return honest(x, weight, y, stream);
}
