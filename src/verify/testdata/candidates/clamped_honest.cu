// passed (./dev cheats)
// task: clamped
#include "tasks/clamped.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  shift<<<rows, columns, 0, stream>>>(data(in[0]), weights.data[0], data(out[0]), true);
  return status_of_launch();
}
