// correctness: wrong (./dev cheats)
// task: growth
// expf(x) - 1: for small x nothing but rounding, which is what expm1 is for.
#include "tasks/growth.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  grow<<<(elements + 255) / 256, 256, 0, stream>>>(data(in[0]), data(out[0]), false);
  return status_of_launch();
}
