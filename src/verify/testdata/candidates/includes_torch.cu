// build: build_failed (./dev cheats)
#include <torch/extension.h>

#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return honest(x, weight, y, stream);
}
