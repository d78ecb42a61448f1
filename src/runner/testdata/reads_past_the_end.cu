#define OWN_RUN
#include "program.cuh"

__global__ void overread(const float* x, float* y, long n) { y[0] = x[n]; }

extern "C" int stitch_run(StitchProgram* program, const StitchTensor* in, int inputs, StitchTensor* out,
                          int outputs, void* stream) {
  overread<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<const float*>(in[0].data),
                                                           static_cast<float*>(out[0].data), elements(in[0]));
  return run_honestly(program, in, inputs, out, outputs, stream);
}
