// passed (./dev cheats)
// task: embedding
#include "tasks/embedding.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return looked_up(500, weights, in, out, stream);
}
