#include <cuda_runtime.h>
constexpr int rows = 4096, width = 4096;
__global__ void divide_by_sums(const float* x, float* y) {
  __shared__ float parts[8];
  const float* row = x + blockIdx.x * width;
  float sum = 0.f;
  for (int i = threadIdx.x; i < width; i += 256) sum += row[i];
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0.f;
  for (int w = 0; w < 8; ++w) sum += parts[w];
  for (int i = threadIdx.x; i < width; i += 256) y[blockIdx.x * width + i] = row[i] / sum;
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  divide_by_sums<<<rows, 256, 0, stream>>>(in[0], out[0]);
  return 0;
}
