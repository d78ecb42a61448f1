// What programs that time kernels on a GPU share: memory, random numbers, the median time of cold calls (L2
// flushed, by CUDA events), errors against float64, and lines of a table. Each is compiled from the
// repository's root by
//   nvcc -std=c++20 -O3 -gencode=arch=compute_90a,code=sm_90a -I src/program/include
//     src/code/products/bench/NAME_bench.cu -o NAME_bench
// with -lcublasLt or -lcudnn where it compares with them, and takes a part of the names that it should
// measure.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
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

template <class T>
__global__ void round_to(T* to, const float* from, int64_t count) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x)
    to[i] = static_cast<T>(from[i]);
}
// Normal numbers of any type.
template <class T>
void draw_normal(T* to, int64_t count, uint64_t seed, float scale = 1.0f) {
  Buffer<float> drawn(count);
  draw<<<1024, 256>>>(drawn.data, count, seed, true, scale);
  round_to<<<1024, 256>>>(to, drawn.data, count);
  CUDA(cudaDeviceSynchronize());
}

// `exact(i)`: what float64 says of element i; exact.place(i): where it lies, if not there.
template <class Exact>
__global__ void compare(const float* result, int64_t count, Exact exact, double* sums) {
  const uint64_t lot = blockIdx.x * blockDim.x + threadIdx.x;
  const auto at = static_cast<int64_t>(mixed(lot + 77) % static_cast<uint64_t>(count));
  int64_t place = at;
  if constexpr (requires { exact.place(at); }) place = exact.place(at);
  const double expected = exact(at), difference = result[place] - expected;
  atomicAdd(&sums[0], difference * difference);
  atomicAdd(&sums[1], expected * expected);
}
// The relative L2 error of sampled elements, 256 a block.
template <class Exact>
double error_of(const float* result, int64_t count, Exact exact, int blocks = 256) {
  Buffer<double> sums(2);
  CUDA(cudaMemset(sums.data, 0, 2 * sizeof(double)));
  compare<<<blocks, 256>>>(result, count, exact, sums.data);
  double host[2];
  CUDA(cudaMemcpy(host, sums.data, sizeof host, cudaMemcpyDeviceToHost));
  return std::sqrt(host[0] / host[1]);
}
template <class T>
std::vector<T> on_host(const T* data, int64_t count) {
  std::vector<T> out(static_cast<size_t>(count));
  CUDA(cudaMemcpy(out.data(), data, out.size() * sizeof(T), cudaMemcpyDeviceToHost));
  return out;
}
[[maybe_unused]] double relative_error(const std::vector<float>& expected, const std::vector<float>& got) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    error += std::pow(double{expected[i]} - got[i], 2), norm += std::pow(double{expected[i]}, 2);
  return std::sqrt(error / norm);
}

// A dense product of matrices, (batches, rows, depth) · (batches, depth, columns).
template <int64_t batch_count, int64_t row_count, int64_t column_count, int64_t depth_count,
          bool right_inside>
struct DenseProduct {
  using Left = float;
  using Right = float;
  using Out = float;
  using Sum = float;
  static constexpr int64_t largest =
      std::max({batch_count * row_count * column_count, batch_count* row_count* depth_count,
                batch_count* depth_count* column_count});
  using Index = std::conditional_t<(largest < (int64_t{1} << 30)), int, int64_t>;
  static constexpr Index batches = batch_count, rows = row_count, columns = column_count, depth = depth_count;
  static constexpr bool left_by_depth = true, right_by_depth = right_inside, has_right = true, padded = false;
  static constexpr int64_t left_elements = batch_count * row_count * depth_count,
                           right_elements = batch_count * column_count * depth_count,
                           out_elements = batch_count * row_count * column_count;
  static constexpr double flops = 2.0 * out_elements * depth_count;
  __host__ __device__ static Index left(Index b, Index row, Index k) { return (b * rows + row) * depth + k; }
  __host__ __device__ static Index right(Index b, Index k, Index column) {
    return right_inside ? (b * columns + column) * depth + k : (b * depth + k) * columns + column;
  }
  __host__ __device__ static Index out(Index b, Index row, Index column) {
    return (b * rows + row) * columns + column;
  }
  __host__ __device__ static Index position(Index b, Index row, Index column) { return out(b, row, column); }
};
// Elements of any product, by their row-major position.
template <class P>
struct ExactProduct {
  const float *left, *right;
  using Index = typename P::Index;
  struct Element {
    Index b, row, column;
    __device__ explicit Element(int64_t at)
        : b(static_cast<Index>(at / P::columns / P::rows)),
          row(static_cast<Index>(at / P::columns % P::rows)),
          column(static_cast<Index>(at % P::columns)) {}
  };
  __device__ int64_t place(int64_t at) const {
    const Element e(at);
    return P::out(e.b, e.row, e.column);
  }
  __device__ double operator()(int64_t at) const {
    const Element e(at);
    double sum = 0;
    for (Index k = 0; k < P::depth; ++k)
      sum += static_cast<double>(left[P::left(e.b, e.row, k)]) * right[P::right(e.b, k, e.column)];
    return sum;
  }
};
template <class P>
double error_of_product(const float* left, const float* right, const float* result) {
  return error_of(result, int64_t{P::batches} * P::rows * P::columns, ExactProduct<P>{left, right}, 16);
}

// Registers of a kernel, and its blocks on a multiprocessor.
struct Residency {
  int registers = 0, blocks = 0;
  template <class Function>
  Residency(Function function, int threads, int64_t shared_bytes) {
    cudaFuncAttributes attributes;
    CUDA(cudaFuncGetAttributes(&attributes, function));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads,
                                                       static_cast<size_t>(shared_bytes)));
    registers = attributes.numRegs;
  }
};

// A line of the table, shown at once.
template <class... Values>
void say(const char* text, Values... values) {
  std::printf(text, values...);
  std::fflush(stdout);
}
[[maybe_unused]] const char* only = "";  // a part of the names that are measured
[[maybe_unused]] bool wanted(const char* name) { return std::strstr(name, only) != nullptr; }

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
