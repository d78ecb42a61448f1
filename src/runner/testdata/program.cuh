// The plain half of every candidate here: y = x * scale, n floats. A file that misbehaves in one function
// says so (OWN_RUN, OWN_CREATE) and brings its own.
#pragma once

#include <cuda_runtime.h>

#include "stitch/program.h"

struct StitchProgram {
  float* scale;  // (1)
};

static const char* last_error = "";

__global__ void multiply(const float* x, const float* scale, float* y, long n) {
  long i = blockIdx.x * static_cast<long>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] * *scale;
}

static inline long elements(const StitchTensor& tensor) {
  long count = 1;
  for (int i = 0; i < tensor.rank; ++i) count *= tensor.shape[i];
  return count;
}

static inline int run_honestly(StitchProgram* program, const StitchTensor* in, int inputs, StitchTensor* out,
                               int outputs, void* stream) {
  if (inputs != 1 || outputs != 1 || !in[0].data || elements(in[0]) != elements(out[0])) {
    last_error = "one input and one output of the same shape, please";
    return STITCH_BAD_ARGUMENT;
  }
  const long n = elements(in[0]);
  multiply<<<(n + 127) / 128, 128, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const float*>(in[0].data), program->scale, static_cast<float*>(out[0].data), n);
  return STITCH_OK;
}

#ifndef OWN_CREATE
extern "C" int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  if (count != 1) {
    last_error = "one parameter, please";
    return STITCH_BAD_ARGUMENT;
  }
  StitchProgram* program = new StitchProgram;
  cudaMalloc(&program->scale, sizeof(float));
  cudaMemcpy(program->scale, params[0].data, sizeof(float), cudaMemcpyDeviceToDevice);
  *out = program;
  return STITCH_OK;
}
#endif
#ifndef OWN_RUN
extern "C" int stitch_run(StitchProgram* program, const StitchTensor* in, int inputs, StitchTensor* out,
                          int outputs, void* stream) {
  return run_honestly(program, in, inputs, out, outputs, stream);
}
#endif
extern "C" void stitch_destroy(StitchProgram* program) {
  cudaFree(program->scale);
  delete program;
}
extern "C" const char* stitch_manifest(void) { return "{\"name\": \"multiply\"}"; }
extern "C" const char* stitch_last_error(void) { return last_error; }
