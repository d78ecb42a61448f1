// The ABI for candidates of tasks other than row_center: a task's header (tasks/NAME.h) says what comes in
// and goes out and how it is computed honestly, the candidate holds
//   static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream);
#pragma once

#include <cuda_runtime.h>

#include <cstring>

#include "stitch/program.h"

struct Wanted {
  int dtype, rank;
  int64_t shape[4];

  int64_t elements() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= shape[i];
    return count;
  }
};

struct Weights {
  float* data[8] = {};
};
struct StitchProgram {
  Weights weights;
};

static const char* last_error = "";

template <int count>
static bool fit(const Wanted (&wanted)[count], const StitchTensor* given, int n) {
  if (n != count) return false;
  for (int i = 0; i < count; ++i) {
    if (!given[i].data || given[i].dtype != wanted[i].dtype || given[i].rank != wanted[i].rank) return false;
    int64_t stride = 1;
    for (int d = wanted[i].rank - 1; d >= 0; --d) {
      if (given[i].shape[d] != wanted[i].shape[d] || given[i].strides[d] != stride) return false;
      stride *= wanted[i].shape[d];
    }
  }
  return true;
}

template <class T = float>
static T* data(const StitchTensor& tensor) {
  return static_cast<T*>(tensor.data);
}

static int status_of_launch() { return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR; }

static int run(const Weights& weights, const StitchTensor* in, StitchTensor* out, cudaStream_t stream);

#define CANDIDATE_ABI(parameter_count)                                                              \
  extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int,            \
                                             StitchProgram** out) {                                 \
    if (count != (parameter_count)) return STITCH_BAD_ARGUMENT;                                     \
    *out = new StitchProgram;                                                                       \
    for (int i = 0; i < count; ++i) {                                                               \
      int64_t bytes = sizeof(float);                                                                \
      for (int d = 0; d < params[i].rank; ++d) bytes *= params[i].shape[d];                         \
      if (cudaMalloc(&(*out)->weights.data[i], bytes) != cudaSuccess) return STITCH_OUT_OF_MEMORY;  \
      cudaMemcpy((*out)->weights.data[i], params[i].data, bytes, cudaMemcpyDeviceToDevice);         \
    }                                                                                               \
    return STITCH_OK;                                                                               \
  }                                                                                                 \
  extern "C" STITCH_EXPORT int stitch_run(StitchProgram* program, const StitchTensor* in, int n_in, \
                                          StitchTensor* out, int n_out, void* stream) {             \
    if (!fit(wanted_inputs, in, n_in) || !fit(wanted_outputs, out, n_out)) {                        \
      last_error = "other tensors than the task's";                                                 \
      return STITCH_BAD_ARGUMENT;                                                                   \
    }                                                                                               \
    return run(program->weights, in, out, static_cast<cudaStream_t>(stream));                       \
  }                                                                                                 \
  extern "C" STITCH_EXPORT void stitch_destroy(StitchProgram* program) {                            \
    for (float* weight : program->weights.data) cudaFree(weight);                                   \
    delete program;                                                                                 \
  }                                                                                                 \
  extern "C" STITCH_EXPORT const char* stitch_manifest(void) { return manifest; }                   \
  extern "C" STITCH_EXPORT const char* stitch_last_error(void) { return last_error; }
