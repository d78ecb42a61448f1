// passed (./dev cheats)
// task: lstm
#include "tasks/lstm.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return from_step(0, weights, in, out, stream);
}
