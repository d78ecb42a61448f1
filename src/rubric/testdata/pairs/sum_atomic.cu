#include <cuda_runtime.h>
constexpr int n = 1 << 26;
__global__ void sum(const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(y, x[i]);
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  cudaMemsetAsync(out[0], 0, 4, stream);
  sum<<<n / 256, 256, 0, stream>>>(in[0], out[0]);
  return 0;
}
