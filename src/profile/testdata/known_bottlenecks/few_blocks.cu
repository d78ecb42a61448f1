// occupancy: eight blocks with much to do, and 124 multiprocessors with nothing.
#include "known.h"

static constexpr int blocks = ON_GPU_OR_EMULATED(8, 1), rounds = ON_GPU_OR_EMULATED(20000, 8);
static constexpr __host__ __device__ long long input_floats() { return blocks * 1024ll; }
static constexpr __host__ __device__ long long output_floats() { return input_floats(); }

static __global__ void multiply_add(const float* x, float* y) {
  const long long i = blockIdx.x * 1024ll + threadIdx.x;
  const float factor = 0.999f, term = x[i];
  float sum[4] = {term, term + 1, term + 2, term + 3};
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] = sum[k] * factor + term;
  y[i] = sum[0] + sum[1] + sum[2] + sum[3];
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  multiply_add<<<blocks, 1024, 0, stream>>>(x, y);
  return cudaSuccess;
}
