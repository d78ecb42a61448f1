// correctness: hung
#include "row_center.h"

static int run(const float*, const float*, float*, cudaStream_t) {
  volatile int counter = 0;
  for (;;) counter = counter + 1;
}
