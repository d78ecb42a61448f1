// imbalance: a block more than there are multiprocessors, and one block fits each: the last one runs alone.
#include "known.h"

static constexpr int shared_bytes = ON_GPU_OR_EMULATED(180 * 1024, 1024),
                     rounds = ON_GPU_OR_EMULATED(20000, 4);
static constexpr int most_blocks = ON_GPU_OR_EMULATED(1024, 3);
static constexpr __host__ __device__ long long input_floats() { return most_blocks * 1024ll; }
static constexpr __host__ __device__ long long output_floats() { return input_floats(); }

static __global__ void multiply_add(const float* x, float* y) {
  extern __shared__ float staged[];
  const long long i = blockIdx.x * 1024ll + threadIdx.x;
  const float factor = 0.999f;
  if (threadIdx.x == 0) staged[0] = x[i];
  __syncthreads();
  const float term = staged[0];
  float sum[4] = {x[i], term + 1, term + 2, term + 3};
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int k = 0; k < 4; ++k) sum[k] = sum[k] * factor + term;
  y[i] = sum[0] + sum[1] + sum[2] + sum[3];
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  int multiprocessors = 2;
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  const int blocks = multiprocessors < most_blocks ? multiprocessors + 1 : most_blocks;
  cudaError_t code =
      cudaFuncSetAttribute(multiply_add, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (code != cudaSuccess) return code;
  multiply_add<<<blocks, 1024, shared_bytes, stream>>>(x, y);
  return cudaSuccess;
}
