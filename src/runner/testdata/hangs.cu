#define OWN_RUN
#include "program.cuh"

extern "C" int stitch_run(StitchProgram*, const StitchTensor*, int, StitchTensor*, int, void*) {
  for (volatile int i = 0;; i = i + 1) {
  }
}
