// What programs that time kernels on a GPU share: memory, random numbers, the time of a call.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "stitch/runtime/errors.h"

namespace {

using namespace stitch;

#define OK(call)                                                                           \
  do {                                                                                     \
    if ((call) != STITCH_OK) {                                                             \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, last_error_text); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (false)
#define CUDA(call)                                                                                   \
  do {                                                                                               \
    if (cudaError_t error = (call); error != cudaSuccess) {                                          \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      std::exit(1);                                                                                  \
    }                                                                                                \
  } while (false)

template <class T>
struct Buffer {
  T* data = nullptr;
  explicit Buffer(int64_t count) { CUDA(cudaMalloc(&data, static_cast<size_t>(count) * sizeof(T))); }
  Buffer(const Buffer&) = delete;
  ~Buffer() { cudaFree(data); }
};

__device__ uint64_t mixed(uint64_t x) {
  x *= 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}
__global__ void draw(float* to, int64_t count, uint64_t seed, bool normal, float scale) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const uint64_t x = mixed(static_cast<uint64_t>(i) + seed);
    const float u = static_cast<float>(x >> 40) * 0x1p-24f, v = static_cast<float>(x & 0xFFFFFF) * 0x1p-24f;
    to[i] = scale * (normal ? sqrtf(-2.0f * logf(1.0f - u)) * cospif(2.0f * v) : u);
  }
}

// The median of cold calls, in milliseconds.
template <class Call>
double time_of(Call call) {
  static Buffer<char> flush(int64_t{256} << 20);
  cudaEvent_t begin, end;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));
  std::vector<float> times;
  call();
  for (int i = 0; i < 9; ++i) {
    CUDA(cudaMemsetAsync(flush.data, i, size_t{256} << 20));
    CUDA(cudaEventRecord(begin));
    call();
    CUDA(cudaEventRecord(end));
    CUDA(cudaEventSynchronize(end));
    float once;
    CUDA(cudaEventElapsedTime(&once, begin, end));
    times.push_back(once);
  }
  CUDA(cudaEventDestroy(begin));
  CUDA(cudaEventDestroy(end));
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace
