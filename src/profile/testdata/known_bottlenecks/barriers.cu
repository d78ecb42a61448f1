// latency: one thread of a block works between two barriers, and 1023 wait.
#include "known.h"

static constexpr int blocks = ON_GPU_OR_EMULATED(132 * 2, 2), rounds = ON_GPU_OR_EMULATED(300, 3);
static constexpr __host__ __device__ long long input_floats() { return blocks * 1024ll; }
static constexpr __host__ __device__ long long output_floats() { return input_floats(); }

static __global__ void __launch_bounds__(1024, 2) one_thread_at_a_time(const float* x, float* y) {
  __shared__ float value;
  const long long i = blockIdx.x * 1024ll + threadIdx.x;
  if (threadIdx.x == 0) value = x[i];
  float sum = 0;
  for (int round = 0; round < rounds; ++round) {
    __syncthreads();
    if (threadIdx.x == 0) {
      float chain = value;
      for (int k = 0; k < 128; ++k) chain = chain * 0.999f + 0.001f;
      value = chain;
    }
    __syncthreads();
    sum += value;
  }
  y[i] = sum;
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  one_thread_at_a_time<<<blocks, 1024, 0, stream>>>(x, y);
  return cudaSuccess;
}
