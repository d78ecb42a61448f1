// correctness: wrong
// task: batch_norm
// The output is right, and what the call should renew is as it was.
#include "tasks/batch_norm.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return normalise(weights, in, out, stream, {true, false});
}
