#include <cuda_runtime.h>
constexpr int rows = 4096, width = 4096;
__global__ void row_sums(const float* x, float* sums) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  float sum = 0.f;
  for (int i = lane; i < width; i += 32) sum += x[row * width + i];
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(0xffffffff, sum, o);
  if (lane == 0) sums[row] = sum;
}
__global__ void divide(const float* x, const float* sums, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] / sums[i / width];
}
struct StitchProgram { float* sums; };
int stitch_run(StitchProgram* p, const float* const* in, float* const* out, cudaStream_t stream) {
  row_sums<<<rows / 4, 128, 0, stream>>>(in[0], p->sums);
  divide<<<rows * width / 256, 256, 0, stream>>>(in[0], p->sums, out[0]);
  return 0;
}
