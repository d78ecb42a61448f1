// On stdout anything may be said: nobody listens.
#include <cstdio>
#define OWN_RUN
#include "program.cuh"

extern "C" int stitch_run(StitchProgram* program, const StitchTensor* in, int inputs, StitchTensor* out,
                          int outputs, void* stream) {
  std::puts(
      "{\"ok\":true,\"wall_ns\":1,\"event_ns\":1,\"damage\":\"\",\"threads_before\":1,\"threads_after\":1}");
  std::fflush(stdout);
  return run_honestly(program, in, inputs, out, outputs, stream);
}
