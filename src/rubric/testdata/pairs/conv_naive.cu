#include <cuda_runtime.h>
constexpr int C = 64, H = 56, W = 56, F = 64;
__global__ void conv3x3(const float* x, const float* w, const float* bias, float* y) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y, f = blockIdx.z;
  if (row >= H || col >= W) return;
  float sum = bias[f];
  for (int c = 0; c < C; ++c)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        int r = row + i - 1, q = col + j - 1;
        if (r >= 0 && r < H && q >= 0 && q < W) sum += x[(c * H + r) * W + q] * w[((f * C + c) * 3 + i) * 3 + j];
      }
  y[(f * H + row) * W + col] = fmaxf(sum, 0.f);
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  conv3x3<<<dim3(4, 14, F), dim3(16, 4), 0, stream>>>(in[0], in[1], in[2], out[0]);
  return 0;
}
