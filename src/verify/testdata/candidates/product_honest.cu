// passed (./dev cheats)
// task: product
#include "tasks/product.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return multiply(Sum::exact, weights, in, out, stream);
}
