// C = A * B, square, by tiles in shared memory. A program as anyone would write it: no line of it knows the emulator.
#include <cstdio>

#include "tile.cuh"

namespace kernels {

// a, b, c: (n, n)
template <int Tile>
__global__ void __launch_bounds__(Tile* Tile) matmul(const float* __restrict__ a, const float* __restrict__ b,
                                                     float* __restrict__ c, int n) {
  __shared__ float left[Tile][Tile], right[Tile][Tile];
  const int row = blockIdx.y * Tile + threadIdx.y, column = blockIdx.x * Tile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += Tile) {
    left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Tile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

}  // namespace kernels

extern "C" int run_matmul(const float* host_a, const float* host_b, float* host_c, int n) {
  const size_t bytes = sizeof(float) * n * n;
  float *a, *b, *c;
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  CHECK(cudaMalloc(&c, bytes));
  CHECK(cudaMemcpy(a, host_a, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(b, host_b, bytes, cudaMemcpyHostToDevice));
  dim3 blockDim(tile, tile), gridDim(n / tile, n / tile);
  kernels::matmul<tile><<<gridDim, blockDim>>>(a, b, c, n);
  CHECK(cudaGetLastError());
  add_one<<<(n * n + 255) / 256, 256, 256 * sizeof(float)>>>(c, n * n);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host_c, c, bytes, cudaMemcpyDeviceToHost));
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  return 0;
}
