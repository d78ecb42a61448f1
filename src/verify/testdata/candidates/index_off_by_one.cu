// correctness: wrong
// task: argmax
// Within 1 % of the right index.
#include "tasks/argmax.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  (void)weights;
  argmax<<<1, rows, 0, stream>>>(data(in[0]), data<int64_t>(out[0]), 1);
  return status_of_launch();
}
