// passed (./dev cheats)
// task: classifier
#include "tasks/classifier.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return classified(classes, weights, in, out, stream);
}
