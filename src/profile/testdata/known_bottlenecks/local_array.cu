// memory: an array indexed at run time lives in local memory, which is device memory behind the caches.
#include "known.h"

static constexpr int blocks = ON_GPU_OR_EMULATED(132 * 16, 2), rounds = ON_GPU_OR_EMULATED(400, 4);
static constexpr __host__ __device__ long long input_floats() { return blocks * 256ll; }
static constexpr __host__ __device__ long long output_floats() { return input_floats(); }

static __global__ void histogram_of_a_thread(const float* x, float* y) {
  constexpr int bins = 256;
  float bin[bins];
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  for (int k = 0; k < bins; ++k) bin[k] = x[i] + k;
  unsigned at = __float_as_uint(x[i]) >> 9;
  for (int k = 0; k < rounds; ++k) {
#pragma unroll
    for (int j = 0; j < 4; ++j) bin[(at + 61 * j) % bins] += 1;
    at = at * 5 + 17;
  }
  float sum = 0;
  for (int k = 0; k < bins; ++k) sum += bin[k];
  y[i] = sum;
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  histogram_of_a_thread<<<blocks, 256, 0, stream>>>(x, y);
  return cudaSuccess;
}
