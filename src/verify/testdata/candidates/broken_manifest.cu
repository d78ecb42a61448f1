// load: manifest
#define CANDIDATE_MANIFEST R"({"stitch": 1, "name": )"
#include "row_center.h"

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  return honest(x, weight, y, stream);
}
