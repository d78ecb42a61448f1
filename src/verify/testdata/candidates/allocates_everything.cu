// correctness: out_of_memory
#include <cstdlib>

#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  for (;;) {
    void* block = std::malloc(64 << 20);
    if (block) std::memset(block, 1, 64 << 20);
  }
  return honest(x, weight, y, stream);
}
