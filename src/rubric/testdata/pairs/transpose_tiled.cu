#include <cuda_runtime.h>
constexpr int rows = 8192, cols = 8192;
__global__ void transpose(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = x[(r + i) * cols + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x;
  r = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) y[(r + i) * rows + c] = tile[threadIdx.x][threadIdx.y + i];
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  transpose<<<dim3(cols / 32, rows / 32), dim3(32, 8), 0, stream>>>(in[0], out[0]);
  return 0;
}
