// correctness: wrong
// task: conv_norm_gelu
// GELU by tanh, which is less than what TF32 is allowed to be off by in the convolution before it.
#include "tasks/conv_norm_gelu.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return conv_norm_gelu<in_tf32, gelu_by_tanh, of_group>(weights, in, out, stream);
}
