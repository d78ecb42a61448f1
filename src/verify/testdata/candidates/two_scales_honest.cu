// passed (./dev cheats)
// task: two_scales
#include "tasks/two_scales.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  both_scales<<<1, rows, 0, stream>>>(data(in[0]), data(out[0]), true);
  return status_of_launch();
}
