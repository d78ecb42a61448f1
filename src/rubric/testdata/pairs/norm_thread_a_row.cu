#include <cuda_runtime.h>
constexpr int rows = 8192, width = 1024;
__global__ void layer_norm(const float* x, const float* g, const float* b, float* y) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f, squares = 0.f;
  for (int i = 0; i < width; ++i) sum += x[row * width + i];
  float mean = sum / width;
  for (int i = 0; i < width; ++i) squares += (x[row * width + i] - mean) * (x[row * width + i] - mean);
  float scale = 1.f / sqrtf(squares / width + 1e-5f);
  for (int i = 0; i < width; ++i) y[row * width + i] = (x[row * width + i] - mean) * scale * g[i] + b[i];
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  layer_norm<<<rows / 128, 128, 0, stream>>>(in[0], in[1], in[2], out[0]);
  return 0;
}
