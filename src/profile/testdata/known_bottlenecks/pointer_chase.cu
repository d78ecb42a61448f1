// latency: one warp follows a chain through device memory; each load needs the one before it.
#include "known.h"

static constexpr int steps = ON_GPU_OR_EMULATED(2000, 20);
static constexpr __host__ __device__ long long input_floats() {
  return ON_GPU_OR_EMULATED(64ll << 20, 1 << 12);
}
static constexpr __host__ __device__ long long output_floats() { return 32; }

static __global__ void chase(const float* x, float* y) {
  unsigned long long at = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < steps; ++k) {
    const float value = x[at];
    sum += value;
    at = (at * 6364136223846793005ull + (value > 0 ? 1442695ull : 972663ull)) % input_floats();
  }
  y[threadIdx.x] = sum;
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  chase<<<1, 32, 0, stream>>>(x, y);
  return cudaSuccess;
}
