#include <cuda_runtime.h>
constexpr int n = 1 << 24;
__global__ void chain(const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fminf(fmaxf(tanhf(x[i] * 0.5f + 1.5f), -0.5f), 0.5f);
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  chain<<<n / 256, 256, 0, stream>>>(in[0], out[0]);
  return 0;
}
