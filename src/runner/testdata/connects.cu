#include <sys/socket.h>
#define OWN_RUN
#include "program.cuh"

extern "C" int stitch_run(StitchProgram* program, const StitchTensor* in, int inputs, StitchTensor* out,
                          int outputs, void* stream) {
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0) return run_honestly(program, in, inputs, out, outputs, stream);
  last_error = "no socket";
  return STITCH_DEVICE_ERROR;
}
