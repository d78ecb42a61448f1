#include <cuda_runtime.h>
constexpr int C = 64, H = 56, W = 56, F = 64, FILTERS = 8;
__global__ void conv3x3(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ bias, float* __restrict__ y) {
  __shared__ float tile[18][18];
  __shared__ float filters[FILTERS][9];
  float acc[FILTERS] = {};
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y, thread = threadIdx.y * 16 + threadIdx.x;
  for (int c = 0; c < C; ++c) {
    for (int i = thread; i < 18 * 18; i += 256) {
      int r = blockIdx.y * 16 + i / 18 - 1, q = blockIdx.x * 16 + i % 18 - 1;
      tile[i / 18][i % 18] = r >= 0 && r < H && q >= 0 && q < W ? x[(c * H + r) * W + q] : 0.f;
    }
    if (thread < FILTERS * 9) filters[thread / 9][thread % 9] = w[((blockIdx.z * FILTERS + thread / 9) * C + c) * 9 + thread % 9];
    __syncthreads();
    #pragma unroll
    for (int f = 0; f < FILTERS; ++f)
      for (int k = 0; k < 9; ++k) acc[f] += tile[threadIdx.y + k / 3][threadIdx.x + k % 3] * filters[f][k];
    __syncthreads();
  }
  if (row < H && col < W)
    for (int f = 0; f < FILTERS; ++f) y[((blockIdx.z * FILTERS + f) * H + row) * W + col] = fmaxf(acc[f] + bias[blockIdx.z * FILTERS + f], 0.f);
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  conv3x3<<<dim3(4, 4, F / FILTERS), dim3(16, 16), 0, stream>>>(in[0], in[1], in[2], out[0]);
  return 0;
}
