// host: the data goes to the host and back in the middle of the call.
#include "known.h"

static constexpr __host__ __device__ long long input_floats() {
  return ON_GPU_OR_EMULATED(16 << 20, 1 << 12);
}
static constexpr __host__ __device__ long long output_floats() { return input_floats(); }

static __global__ void halve(const float* x, float* y) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  y[i] = 0.5f * x[i];
}

static cudaError_t run(const float* x, float* y, cudaStream_t stream) {
  static float* on_host = nullptr;
  constexpr size_t bytes = input_floats() * sizeof(float);
  if (!on_host)
    if (cudaError_t code = cudaMallocHost(reinterpret_cast<void**>(&on_host), bytes); code != cudaSuccess)
      return code;
  halve<<<input_floats() / 256, 256, 0, stream>>>(x, y);
  cudaMemcpyAsync(on_host, y, bytes, cudaMemcpyDeviceToHost, stream);
  cudaMemcpyAsync(y, on_host, bytes, cudaMemcpyHostToDevice, stream);
  halve<<<input_floats() / 256, 256, 0, stream>>>(y, y);
  return cudaSuccess;
}
