// correctness: forbidden (./dev cheats)
// Everybody's priority but its own: whoever times the baselines becomes slow.
#include <sys/resource.h>
#include <unistd.h>

#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static const int done = setpriority(PRIO_USER, getuid(), 19);
  (void)done;
  return honest(x, weight, y, stream);
}
