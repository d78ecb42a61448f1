// correctness: wrong (./dev cheats)
// task: product
// Operands cut to TF32's ten bits, in a class that multiplies matrices in FP32.
#include "tasks/product.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return multiply(Sum::bits, weights, in, out, stream);
}
