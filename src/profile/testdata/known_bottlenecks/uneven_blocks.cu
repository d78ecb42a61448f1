// imbalance: every 64th block has 40 times the work of the others.
#include "known.h"

static constexpr int blocks = ON_GPU_OR_EMULATED(132 * 8, 4), rounds = ON_GPU_OR_EMULATED(2000, 4);
static constexpr __host__ __device__ long long input_floats() { return blocks * 256ll; }
static constexpr __host__ __device__ long long output_floats() { return input_floats(); }

static __global__ void multiply_add(const float* x, float* y) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  const int own_rounds = blockIdx.x % 64 == 0 ? 40 * rounds : rounds;
  const float factor = 0.999f, term = x[i];
  float sum[4] = {term, term + 1, term + 2, term + 3};
  for (int round = 0; round < own_rounds; ++round)
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] = sum[k] * factor + term;
  y[i] = sum[0] + sum[1] + sum[2] + sum[3];
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  multiply_add<<<blocks, 256, 0, stream>>>(x, y);
  return cudaSuccess;
}
