#include <cuda_runtime.h>
constexpr int n = 1 << 26;
__global__ void sum(const float4* __restrict__ x, float* y) {
  __shared__ float parts[8];
  float mine = 0.f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
    const float4 v = x[i];
    mine += v.x + v.y + v.z + v.w;
  }
  for (int o = 16; o > 0; o >>= 1) mine += __shfl_down_sync(0xffffffff, mine, o);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < 8; ++w) mine += parts[w];
    atomicAdd(y, mine);
  }
}
int stitch_run(const float4* const* in, float* const* out, cudaStream_t stream) {
  cudaMemsetAsync(out[0], 0, 4, stream);
  sum<<<1056, 256, 0, stream>>>(in[0], out[0]);
  return 0;
}
