// correctness: not_finite (./dev cheats)
// task: two_outputs
#include "tasks/two_outputs.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  both<<<(elements + 255) / 256, 256, 0, stream>>>(data(in[0]), data(in[1]), data(out[0]), nullptr);
  return status_of_launch();
}
