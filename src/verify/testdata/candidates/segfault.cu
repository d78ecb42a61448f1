// correctness: crashed
#include "row_center.h"

static int run(const float*, const float*, float*, cudaStream_t) {
  volatile int* nowhere = nullptr;
  return *nowhere;
}
