#define OWN_RUN
#include "program.cuh"

__global__ void overrun(float* y, long n) { y[n] = 1; }

extern "C" int stitch_run(StitchProgram* program, const StitchTensor* in, int inputs, StitchTensor* out,
                          int outputs, void* stream) {
  overrun<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<float*>(out[0].data), elements(out[0]));
  return run_honestly(program, in, inputs, out, outputs, stream);
}
