#include <cuda_runtime.h>
constexpr int n = 1 << 24;
__device__ float one(float v) { return fminf(fmaxf(tanhf(v * 0.5f + 1.5f), -0.5f), 0.5f); }
__global__ void chain(const float4* __restrict__ x, float4* __restrict__ y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
    const float4 v = x[i];
    y[i] = make_float4(one(v.x), one(v.y), one(v.z), one(v.w));
  }
}
int stitch_run(const float4* const* in, float4* const* out, cudaStream_t stream) {
  chain<<<1056, 256, 0, stream>>>(in[0], out[0]);
  return 0;
}
