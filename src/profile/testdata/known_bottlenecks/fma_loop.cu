// compute: eight independent chains of multiply-adds a thread, nothing else.
#include "known.h"

static constexpr int blocks = ON_GPU_OR_EMULATED(132 * 16, 2), rounds = ON_GPU_OR_EMULATED(4000, 16);
static constexpr __host__ __device__ long long input_floats() { return blocks * 256ll; }
static constexpr __host__ __device__ long long output_floats() { return input_floats(); }

static __global__ void multiply_add(const float* x, float* y) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  const float factor = 0.999f, term = x[i];
  float sum[8];
  for (int k = 0; k < 8; ++k) sum[k] = term + k;
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int k = 0; k < 8; ++k) sum[k] = sum[k] * factor + term;
  float total = 0;
  for (int k = 0; k < 8; ++k) total += sum[k];
  y[i] = total;
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  multiply_add<<<blocks, 256, 0, stream>>>(x, y);
  return cudaSuccess;
}
