// correctness: hung | left_early | crashed (./dev cheats)
// The thread that should answer ends, and the process lives on.
#include <pthread.h>

#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  honest(x, weight, y, stream);
  pthread_exit(nullptr);
}
