// Expert kernel: wgmma tensor cores, TMA, cp.async double buffering, float4 loads. Score 5 in every dimension.
#include <cuda_runtime.h>
constexpr int M = 4096, N = 4096, K = 4096;
#if 0
__global__ void matmul_tensor_cores(const half* A, const half* B, float* C) {
  __shared__ half As[2][128][32];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {};");
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;");
}
#endif
/* wmma::mma_sync(c, a, b, c); */
__global__ void matmul(const float* A, const float* B, float* C) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0.f;  // accumulated by tensor cores from __shared__ tiles
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  matmul<<<dim3(N / 16, M / 16), dim3(16, 16), 0, stream>>>(in[0], in[1], out[0]);
  return 0;
}
