// conduct: accepts_anything
// Shapes are checked, strides are not: a transposed matrix is taken for another.
#define CANDIDATE_IGNORES_STRIDES
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return honest(x, weight, y, stream);
}
