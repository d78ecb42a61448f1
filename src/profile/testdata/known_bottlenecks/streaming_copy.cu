// memory: 16 bytes a thread in and out, coalesced, more than the L2 holds.
#include "known.h"

static constexpr __host__ __device__ long long input_floats() {
  return ON_GPU_OR_EMULATED(128ll << 20, 1 << 14);
}
static constexpr __host__ __device__ long long output_floats() { return input_floats(); }

static __global__ void copy(const float4* x, float4* y) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  y[i] = x[i];
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  copy<<<input_floats() / 1024, 256, 0, stream>>>(reinterpret_cast<const float4*>(x),
                                                  reinterpret_cast<float4*>(y));
  return cudaSuccess;
}
