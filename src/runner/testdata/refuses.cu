#define OWN_RUN
#include "program.cuh"

extern "C" int stitch_run(StitchProgram*, const StitchTensor*, int, StitchTensor*, int, void*) {
  last_error = "this GPU lacks what I need";
  return STITCH_UNSUPPORTED;
}
