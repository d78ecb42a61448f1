// passed (./dev cheats)
// task: batch_norm
#include "tasks/batch_norm.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return normalise(weights, in, out, stream, {});
}
