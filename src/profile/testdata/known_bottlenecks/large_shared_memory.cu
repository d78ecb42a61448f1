// occupancy: 200 kB of shared memory a block leave two warps a multiprocessor to hide the loads' latency.
#include "known.h"

static constexpr int blocks = ON_GPU_OR_EMULATED(132, 2), shared_bytes = ON_GPU_OR_EMULATED(200 * 1024, 4096);
static constexpr __host__ __device__ long long input_floats() {
  return ON_GPU_OR_EMULATED(16ll << 20, 1 << 12);
}
static constexpr __host__ __device__ long long output_floats() { return input_floats(); }

static __global__ void through_shared_memory(const float* x, float* y) {
  extern __shared__ float staged[];
  const long long step = gridDim.x * 64ll;
  for (long long i = blockIdx.x * 64ll + threadIdx.x; i < input_floats(); i += step) {
    staged[threadIdx.x] = x[i];
    __syncthreads();
    y[i] = staged[63 - threadIdx.x] + staged[threadIdx.x];
    __syncthreads();
  }
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  cudaError_t code =
      cudaFuncSetAttribute(through_shared_memory, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (code != cudaSuccess) return code;
  through_shared_memory<<<blocks, 64, shared_bytes, stream>>>(x, y);
  return cudaSuccess;
}
