#include <cuda_runtime.h>
constexpr int M = 4096, N = 4096, K = 4096;
__global__ void matmul(const float* A, const float* B, float* C) {
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = 0.f;
      for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
      C[i * N + j] = sum;
    }
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  matmul<<<1, 1, 0, stream>>>(in[0], in[1], out[0]);
  return 0;
}
