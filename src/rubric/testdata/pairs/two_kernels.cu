#include <cuda_runtime.h>
constexpr int rows = 4096, width = 4096;
__global__ void row_sums(const float* x, float* sums) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
  for (int i = 0; i < width; ++i) sum += x[row * width + i];
  sums[row] = sum;
}
__global__ void divide(const float* x, const float* sums, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] / sums[i / width];
}
struct StitchProgram { float* sums; };
int stitch_run(StitchProgram* p, const float* const* in, float* const* out, cudaStream_t stream) {
  row_sums<<<rows / 128, 128, 0, stream>>>(in[0], p->sums);
  divide<<<rows * width / 256, 256, 0, stream>>>(in[0], p->sums, out[0]);
  return 0;
}
