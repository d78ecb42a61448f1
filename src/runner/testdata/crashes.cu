#define OWN_RUN
#include "program.cuh"

extern "C" int stitch_run(StitchProgram*, const StitchTensor*, int, StitchTensor*, int, void*) {
  *static_cast<volatile int*>(nullptr) = 1;
  return STITCH_OK;
}
