#include <cuda_runtime.h>
constexpr int M = 4096, N = 4096, K = 4096, BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
__global__ void __launch_bounds__(256) matmul(const float* __restrict__ A, const float* __restrict__ B,
                                              float* __restrict__ C) {
  __shared__ float As[BK][BM];
  __shared__ float Bs[BK][BN];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float acc[TM][TN] = {};
  float a[TM], b[TN];
  for (int t = 0; t < K; t += BK) {
    const float4 va = *reinterpret_cast<const float4*>(&A[(blockIdx.y * BM + threadIdx.x / 2) * K + t + (threadIdx.x % 2) * 4]);
    const float4 vb = *reinterpret_cast<const float4*>(&B[(t + threadIdx.x / 32) * N + blockIdx.x * BN + (threadIdx.x % 32) * 4]);
    const int k4 = (threadIdx.x % 2) * 4, m = threadIdx.x / 2;
    As[k4][m] = va.x; As[k4 + 1][m] = va.y; As[k4 + 2][m] = va.z; As[k4 + 3][m] = va.w;
    *reinterpret_cast<float4*>(&Bs[threadIdx.x / 32][(threadIdx.x % 32) * 4]) = vb;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < BK; ++k) {
      for (int i = 0; i < TM; ++i) a[i] = As[k][ty * TM + i];
      for (int j = 0; j < TN; ++j) b[j] = Bs[k][tx * TN + j];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) acc[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i)
    for (int j = 0; j < TN; ++j) C[(blockIdx.y * BM + ty * TM + i) * N + blockIdx.x * BN + tx * TN + j] = acc[i][j];
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  matmul<<<dim3(N / BN, M / BM), 256, 0, stream>>>(in[0], in[1], out[0]);
  return 0;
}
