// Writes one element behind the end; AddressSanitizer names the line.
#include <cuda_runtime.h>

__global__ void fill(float* x, int n) {
  __shared__ float stage[32];
  stage[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x <= n) x[threadIdx.x] = stage[31 - threadIdx.x];
}

int main() {
  float* x;
  cudaMalloc(&x, 20 * sizeof(float));
  fill<<<1, 32>>>(x, 20);
  return cudaDeviceSynchronize();
}
