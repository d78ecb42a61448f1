// The C ABI around one function, for programs that are slow for a reason we know. Each file beside this one
// defines how many floats go in and out, and
//   static cudaError_t run(const float* x, float* y, cudaStream_t stream);
// expected.json says which bottleneck the profiler must name.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>

#include "stitch/program.h"

// On the emulated GPU a small problem will do.
#ifdef STITCH_EMULATED
#define ON_GPU_OR_EMULATED(gpu, emulated) (emulated)
#else
#define ON_GPU_OR_EMULATED(gpu, emulated) (gpu)
#endif

static constexpr __host__ __device__ long long input_floats();
static constexpr __host__ __device__ long long output_floats();
static cudaError_t run(const float* x, float* y, cudaStream_t stream);

struct StitchProgram {
  int unused;
};

static char last_error[256] = "";

extern "C" STITCH_EXPORT int stitch_create(const StitchTensor*, int, int, StitchProgram** out) {
  *out = new StitchProgram{};
  return STITCH_OK;
}

extern "C" STITCH_EXPORT int stitch_run(StitchProgram*, const StitchTensor* in, int n_in, StitchTensor* out,
                                        int n_out, void* stream) {
  if (n_in != 1 || n_out != 1 || in[0].shape[0] != input_floats() || out[0].shape[0] != output_floats()) {
    std::snprintf(last_error, sizeof last_error, "one f32[%lld] in, one f32[%lld] out", input_floats(),
                  output_floats());
    return STITCH_BAD_ARGUMENT;
  }
  cudaError_t code = run(static_cast<const float*>(in[0].data), static_cast<float*>(out[0].data),
                         static_cast<cudaStream_t>(stream));
  if (code == cudaSuccess) code = cudaGetLastError();
  if (code == cudaSuccess) return STITCH_OK;
  std::snprintf(last_error, sizeof last_error, "%s", cudaGetErrorString(code));
  return STITCH_DEVICE_ERROR;
}

extern "C" STITCH_EXPORT void stitch_destroy(StitchProgram* program) { delete program; }

extern "C" STITCH_EXPORT const char* stitch_manifest(void) {
  static char text[512];
  std::snprintf(text, sizeof text,
                R"({"stitch": 1, "name": "known", "class": "default", "parameters": [],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [%lld]}],
    "outputs": [{"name": "y", "role": "output", "dtype": "f32", "shape": [%lld]}],
    "regions": [], "libraries": []})",
                input_floats(), output_floats());
  return text;
}

extern "C" STITCH_EXPORT const char* stitch_last_error(void) { return last_error; }
