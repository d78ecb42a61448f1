#pragma once

#define CHECK(call)                                           \
  do {                                                        \
    cudaError_t check_error = (call);                         \
    if (check_error != cudaSuccess) return int(check_error);  \
  } while (0)

constexpr int tile = 16;

template <typename T>
__global__ void add_one(T* x, int n) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* stage = reinterpret_cast<T*>(raw);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) stage[threadIdx.x] = x[i];
  __syncthreads();
  if (i < n) x[i] = stage[threadIdx.x] + T(1);
}
