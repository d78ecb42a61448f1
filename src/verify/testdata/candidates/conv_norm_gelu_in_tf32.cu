// passed
// task: conv_norm_gelu
// Honest: the convolution reads what tensor cores read.
#include "tasks/conv_norm_gelu.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return conv_norm_gelu<in_tf32, gelu, of_group>(weights, in, out, stream);
}
