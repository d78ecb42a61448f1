// The ABI around one function, for candidates that are to be judged: each file beside this one holds
//   static int run(const float* x, const float* weight, float* y, cudaStream_t stream);
// for y = (x - mean of x's row) * weight. The first line says what the Verifier must answer.
#pragma once

#include <cuda_runtime.h>

#include <cstring>

#include "stitch/program.h"

constexpr int rows = 37, columns = 65, elements = rows * columns;

struct StitchProgram {
  float* weight;  // (columns)
};

static int run(const float* x, const float* weight, float* y, cudaStream_t stream);

static const char* last_error = "";

#ifndef CANDIDATE_HAS_ROWS
#define CANDIDATE_HAS_ROWS(count) ((count) == rows)
#endif
static bool is_matrix(const StitchTensor& tensor) {
  return tensor.data && tensor.dtype == STITCH_F32 && tensor.rank == 2 &&
         CANDIDATE_HAS_ROWS(tensor.shape[0]) &&
#ifdef CANDIDATE_IGNORES_STRIDES
         tensor.shape[1] == columns;
#else
         tensor.shape[1] == columns && tensor.strides[0] == columns && tensor.strides[1] == 1;
#endif
}

#ifndef CANDIDATE_WITHOUT_CREATE
extern "C" STITCH_EXPORT int stitch_create(const StitchTensor* params, int count, int, StitchProgram** out) {
  const bool fits = count == 1 && params[0].data && params[0].dtype == STITCH_F32 && params[0].rank == 1;
  if (!fits || params[0].shape[0] != columns) return STITCH_BAD_ARGUMENT;
  *out = new StitchProgram;
  if (cudaMalloc(&(*out)->weight, columns * sizeof(float)) != cudaSuccess) return STITCH_OUT_OF_MEMORY;
  cudaMemcpy((*out)->weight, params[0].data, columns * sizeof(float), cudaMemcpyDeviceToDevice);
  return STITCH_OK;
}
#endif

extern "C" STITCH_EXPORT int stitch_run(StitchProgram* program, const StitchTensor* in, int n_in,
                                        StitchTensor* out, int n_out, void* stream) {
#ifndef CANDIDATE_CHECKS_NOTHING
#ifdef CANDIDATE_IGNORES_OUTPUTS
  const bool fits = n_out > 0;
#else
  const bool fits = n_out == 1 && is_matrix(out[0]);
#endif
  if (n_in != 1 || !fits || !is_matrix(in[0])) {
    last_error = "one f32[37,65] in, one out";
    return STITCH_BAD_ARGUMENT;
  }
#endif
  return run(static_cast<const float*>(in[0].data), program->weight, static_cast<float*>(out[0].data),
             static_cast<cudaStream_t>(stream));
}

extern "C" STITCH_EXPORT void stitch_destroy(StitchProgram* program) {
  cudaFree(program->weight);
  delete program;
}

#ifndef CANDIDATE_MANIFEST
#define CANDIDATE_MANIFEST true_manifest
#endif
static const char* const true_manifest = R"({"stitch": 1, "name": "row_center", "class": "default",
    "parameters": [{"name": "weight", "role": "parameter", "dtype": "f32", "shape": [65], "data": "weight"}],
    "inputs": [{"name": "x", "role": "input", "dtype": "f32", "shape": [37, 65]}],
    "outputs": [{"name": "mul", "role": "output", "dtype": "f32", "shape": [37, 65]}],
    "regions": [], "libraries": []})";
extern "C" STITCH_EXPORT const char* stitch_manifest(void) { return CANDIDATE_MANIFEST; }
extern "C" STITCH_EXPORT const char* stitch_last_error(void) { return last_error; }

// One block a row, the mean by a tree in shared memory.
static __global__ void center_rows(const float* x, const float* weight, float* y) {
  __shared__ float partial[64];
  const float* row = x + blockIdx.x * columns;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[blockIdx.x * columns + i] = (row[i] - partial[0] / columns) * weight[i];
}

static inline int honest(const float* x, const float* weight, float* y, cudaStream_t stream) {
  center_rows<<<rows, 64, 0, stream>>>(x, weight, y);
  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;
}
