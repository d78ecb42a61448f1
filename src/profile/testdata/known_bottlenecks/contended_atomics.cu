// latency: every thread adds to the same address and waits for the sum it found there.
#include "known.h"

static constexpr int blocks = ON_GPU_OR_EMULATED(132 * 8, 2);
static constexpr __host__ __device__ long long input_floats() { return blocks * 256ll; }
static constexpr __host__ __device__ long long output_floats() { return input_floats(); }

static __global__ void add_to_one(const float* x, float* y, float* total) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  float value = x[i];
  for (int k = 0; k < 4; ++k) value = 0.5f * atomicAdd(total, value);
  y[i] = value;
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  static float* total = nullptr;
  if (!total)
    if (cudaError_t code = cudaMalloc(&total, sizeof(float)); code != cudaSuccess) return code;
  cudaMemsetAsync(total, 0, sizeof(float), stream);
  add_to_one<<<blocks, 256, 0, stream>>>(x, y, total);
  return cudaSuccess;
}
