// passed (./dev cheats)
// task: largest
#include "tasks/largest.h"

#include <cmath>

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  return largest_from(-INFINITY, in, out, stream);
}
