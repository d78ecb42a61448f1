// memory: each lane reads four bytes of a sector of its own, so that eight times the data are moved.
#include "known.h"

static constexpr int stride = 8;  // floats: 32 bytes
static constexpr __host__ __device__ long long output_floats() {
  return ON_GPU_OR_EMULATED(32ll << 20, 1 << 12);
}
static constexpr __host__ __device__ long long input_floats() { return stride * output_floats(); }

static __global__ void gather(const float* x, float* y) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  y[i] = x[stride * i];
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  gather<<<output_floats() / 256, 256, 0, stream>>>(x, y);
  return cudaSuccess;
}
