// conduct: accepts_anything
// Inputs are checked, outputs are not: half the memory, and none.
#define CANDIDATE_IGNORES_OUTPUTS
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return honest(x, weight, y, stream);
}
