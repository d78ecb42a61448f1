#include <cuda_runtime.h>
constexpr int rows = 8192, width = 1024;
__global__ void mean_of_rows(const float* x, float* mean) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
  for (int i = 0; i < width; ++i) sum += x[row * width + i];
  mean[row] = sum / width;
}
__global__ void variance_of_rows(const float* x, const float* mean, float* variance) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
  for (int i = 0; i < width; ++i) sum += (x[row * width + i] - mean[row]) * (x[row * width + i] - mean[row]);
  variance[row] = sum / width;
}
__global__ void normalise(const float* x, const float* mean, const float* variance, const float* g, const float* b, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = (x[i] - mean[i / width]) / sqrtf(variance[i / width] + 1e-5f) * g[i % width] + b[i % width];
}
struct StitchProgram { float *mean, *variance; };
int stitch_run(StitchProgram* p, const float* const* in, float* const* out, cudaStream_t stream) {
  mean_of_rows<<<rows / 128, 128, 0, stream>>>(in[0], p->mean);
  variance_of_rows<<<rows / 128, 128, 0, stream>>>(in[0], p->mean, p->variance);
  normalise<<<rows * width / 256, 256, 0, stream>>>(in[0], p->mean, p->variance, in[1], in[2], out[0]);
  return 0;
}
