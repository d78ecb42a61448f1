// passed (./dev cheats)
// task: recurrence
#include "tasks/recurrence.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return from_step(0, weights, in, out, stream);
}
