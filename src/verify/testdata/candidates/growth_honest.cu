// passed (./dev cheats)
// task: growth
#include "tasks/growth.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  grow<<<(elements + 255) / 256, 256, 0, stream>>>(data(in[0]), data(out[0]), true);
  return status_of_launch();
}
