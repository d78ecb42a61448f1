// passed (./dev cheats)
// task: conv_norm_gelu
// Honest, in FP32.
#include "tasks/conv_norm_gelu.h"

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream) {
  return conv_norm_gelu<exactly, gelu, of_group>(weights, in, out, stream);
}
