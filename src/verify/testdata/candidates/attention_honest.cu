// passed (./dev cheats)
// task: attention
#include "tasks/attention.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  attend<<<heads * length, depth, 0, stream>>>(data(in[0]), data(in[1]), data(in[2]), data(out[0]), length);
  return status_of_launch();
}
