// correctness: refused
#include "row_center.h"

static int run(const float*, const float*, float*, cudaStream_t) {
  last_error = "not today";
  return STITCH_UNSUPPORTED;
}
