// correctness: wrong
// task: largest
// Begins with zero, as sums do: right as long as some element of a row is positive.
#include "tasks/largest.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  return largest_from(0, in, out, stream);
}
