// conduct: accepts_anything
// A smaller batch passes its check, and is read and written beyond its end.
#define CANDIDATE_HAS_ROWS(count) ((count) <= rows)
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return honest(x, weight, y, stream);
}
