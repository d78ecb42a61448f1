// passed (./dev cheats)
// task: relu
#include "tasks/relu.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return honest(weights, in, out, stream);
}
