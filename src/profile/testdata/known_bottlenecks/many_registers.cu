// occupancy: 200 values a thread are kept in registers while it follows dependent loads; eight warps fit a
// multiprocessor, which can't hide them.
#include "known.h"

static constexpr int values = ON_GPU_OR_EMULATED(200, 8), steps = ON_GPU_OR_EMULATED(40, 2);
static constexpr int blocks = ON_GPU_OR_EMULATED(132 * 4, 2);
static constexpr __host__ __device__ long long input_floats() {
  return ON_GPU_OR_EMULATED(64ll << 20, 1 << 14);
}
static constexpr __host__ __device__ long long output_floats() { return blocks * 256ll; }

static __global__ void __launch_bounds__(256, 1) keep_many(const float* x, float* y) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  float kept[values];
#pragma unroll
  for (int k = 0; k < values; ++k) kept[k] = x[(i + 256ll * k) % input_floats()];
  // A warp reads 128 bytes at a place that depends on what it read before.
  const int lane = threadIdx.x % 32;
  unsigned long long at = i - lane;
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int part = 0; part < 8; ++part) {
      const float found = x[at + lane];
      const float first = __shfl_sync(0xffffffffu, found, 0);
      at = (at * 6364136223846793005ull + (first > 0 ? 1442695ull : 972663ull)) % input_floats() / 32 * 32;
#pragma unroll
      for (int k = part; k < values; k += 8) kept[k] += found;
    }
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < values; ++k) sum += kept[k] * kept[(k + 1) % values];
  y[i] = sum;
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  keep_many<<<blocks, 256, 0, stream>>>(x, y);
  return cudaSuccess;
}
