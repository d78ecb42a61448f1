#include <cuda_runtime.h>
constexpr int n = 1 << 26;
__global__ void sum(const float* x, float* y) {
  __shared__ float parts[1024];
  float mine = 0.f;
  for (int i = threadIdx.x; i < n; i += 1024) mine += x[i];
  parts[threadIdx.x] = mine;
  __syncthreads();
  for (int s = 512; s > 0; s >>= 1) {
    if (threadIdx.x < s) parts[threadIdx.x] += parts[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) *y = parts[0];
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  sum<<<1, 1024, 0, stream>>>(in[0], out[0]);
  return 0;
}
