#include <cuda_runtime.h>
constexpr int M = 4096, N = 4096, K = 4096, TILE = 32;
__global__ void matmul(const float* A, const float* B, float* C) {
  __shared__ float As[TILE][TILE];
  __shared__ float Bs[TILE][TILE + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
  float sum = 0.f;
  for (int t = 0; t < K / TILE; ++t) {
    As[ty][tx] = A[row * K + t * TILE + tx];
    Bs[ty][tx] = B[(t * TILE + ty) * N + col];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  C[row * N + col] = sum;
}
int stitch_run(const float* const* in, float* const* out, cudaStream_t stream) {
  float* copy;
  cudaMalloc(&copy, sizeof(float) * M * K);
  cudaMemcpyAsync(copy, in[0], sizeof(float) * M * K, cudaMemcpyDeviceToDevice, stream);
  matmul<<<dim3(N / TILE, M / TILE), dim3(TILE, TILE), 0, stream>>>(copy, in[1], out[0]);
  cudaDeviceSynchronize();
  cudaFree(copy);
  return 0;
}
