// compute: each lane of a warp takes a branch of its own, one after the other: the pipes are busy with one
// lane of 32.
#include "known.h"

static constexpr int blocks = ON_GPU_OR_EMULATED(132 * 8, 2), rounds = ON_GPU_OR_EMULATED(200, 4);
static constexpr __host__ __device__ long long input_floats() { return blocks * 256ll; }
static constexpr __host__ __device__ long long output_floats() { return input_floats(); }

static __global__ void branch_of_a_lane(const float* x, float* y) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  const int lane = threadIdx.x % 32;
  float value = x[i];
  for (int branch = 0; branch < 32; ++branch) {
    if (lane == branch) {
      const float factor = 0.5f + 0.01f * branch;
      for (int k = 0; k < rounds; ++k) value = value * factor + 1;
    }
    __syncwarp();
  }
  y[i] = value;
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  branch_of_a_lane<<<blocks, 256, 0, stream>>>(x, y);
  return cudaSuccess;
}
