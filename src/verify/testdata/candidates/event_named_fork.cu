// passed
// Honest: an event, a member and a function of its own by the names of system calls.
#include "row_center.h"

namespace {

struct Branches {
  cudaEvent_t fork, join;
  void system(cudaStream_t stream) { cudaEventRecord(fork, stream); }
};

int socket(int rows) { return rows > 0 ? 0 : 1; }

}  // namespace

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  Branches branches;
  if (socket(1) != 0) return 1;
  if (cudaEventCreate(&branches.fork) != cudaSuccess) return 1;
  branches.system(stream);
  cudaEventDestroy(branches.fork);
  return honest(x, weight, y, stream);
}
