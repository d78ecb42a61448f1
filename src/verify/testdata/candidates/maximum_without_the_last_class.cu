// correctness: not_finite
// task: classifier
// Behind a layer no row's last is its largest by far, whatever comes in, with weights as PyTorch draws them.
#include "tasks/classifier.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return classified(classes - 1, weights, in, out, stream);
}
