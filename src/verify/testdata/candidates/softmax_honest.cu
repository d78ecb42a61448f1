// passed (./dev cheats)
// task: softmax
#include "tasks/softmax.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  softmax<<<1, rows, 0, stream>>>(data(in[0]), data(out[0]));
  return status_of_launch();
}
