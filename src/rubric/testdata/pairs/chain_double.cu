#include <cuda_runtime.h>
constexpr int n = 1 << 24;
__global__ void chain(const float* x, float* y) {
  for (int i = 0; i < n; ++i) {
    double v = x[i] * 0.5 + 1.5;
    y[i] = fmin(fmax(tanh(v), -0.5), 0.5);
  }
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  chain<<<1, 1, 0, stream>>>(in[0], out[0]);
  cudaStreamSynchronize(stream);
  return 0;
}
