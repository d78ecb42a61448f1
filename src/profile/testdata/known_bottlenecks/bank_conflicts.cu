// memory: all lanes of a warp read the same bank of shared memory, 32 passes a request.
#include "known.h"

static constexpr int blocks = ON_GPU_OR_EMULATED(132 * 8, 2), rounds = ON_GPU_OR_EMULATED(2000, 8);
static constexpr __host__ __device__ long long input_floats() { return blocks * 256ll; }
static constexpr __host__ __device__ long long output_floats() { return input_floats(); }

static __global__ void sum_columns(const float* x, float* y) {
  __shared__ float tile[32][32];  // one more column would cure it
  const int lane = threadIdx.x % 32;
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  for (int row = threadIdx.x / 32; row < 32; row += 8) tile[row][lane] = x[i] + row;
  __syncthreads();
  float sum = 0;
#pragma unroll 8
  for (int k = 0; k < rounds; ++k) sum += tile[lane][(k + threadIdx.x / 32) % 32];
  y[i] = sum;
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  sum_columns<<<blocks, 256, 0, stream>>>(x, y);
  return cudaSuccess;
}
