// correctness: not_finite
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  center_rows<<<rows - 1, 64, 0, stream>>>(x, weight, y);
  return STITCH_OK;
}
