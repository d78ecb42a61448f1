#include <unistd.h>

#include <thread>
#define OWN_RUN
#include "program.cuh"

extern "C" int stitch_run(StitchProgram* program, const StitchTensor* in, int inputs, StitchTensor* out,
                          int outputs, void* stream) {
  std::thread([] { sleep(1000); }).detach();
  return run_honestly(program, in, inputs, out, outputs, stream);
}
