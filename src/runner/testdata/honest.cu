// Does as it is told, and has a region.
#include "program.cuh"

extern "C" int stitch_run_region(StitchProgram* program, int region, const StitchTensor* in, int inputs,
                                 StitchTensor* out, int outputs, void* stream) {
  if (region != 0) {
    last_error = "there is one region";
    return STITCH_BAD_ARGUMENT;
  }
  return run_honestly(program, in, inputs, out, outputs, stream);
}
