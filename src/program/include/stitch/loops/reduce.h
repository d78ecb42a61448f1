// Reductions of any small struct over the threads that share a row: lanes of a warp, a whole block, or the
// threads of one column. Every thread gets the result.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "stitch/loops/math.h"

namespace stitch {
struct Add {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Multiply {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a * b;
  }
};
struct Maximum {  // NaN propagates
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return maximum(a, b);
  }
};
struct Minimum {  // NaN propagates
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return minimum(a, b);
  }
};
struct Merged {
  template <class T>
  __device__ __forceinline__ T operator()(const T& a, const T& b) const {
    return a.merged(b);
  }
};

// The extreme and its index: the first of equals; the first NaN takes precedence.
template <class T, bool largest>
struct Extreme {
  T value;
  int64_t position;

  __device__ __forceinline__ bool loses_to(T other, int64_t other_position) const {
    bool nan = value != value, other_nan = other != other;
    if (nan || other_nan) return other_nan && (!nan || other_position < position);
    if (value == other) return other_position < position;
    return largest ? other > value : other < value;
  }
  // A thread sees its elements in order, so the first of equals is kept.
  __device__ __forceinline__ void add(T other, int64_t other_position) {
    bool wins = largest ? !(other <= value) && value == value : !(other >= value) && value == value;
    wins |= position == INT64_MAX;  // the first may be no better than the start
    value = wins ? other : value;
    position = wins ? other_position : position;
  }
  __device__ __forceinline__ Extreme merged(const Extreme& other) const {
    return loses_to(other.value, other.position) ? other : *this;
  }
};

// Sum of e^(x - maximum) in one pass. The maximum starts at the lowest finite number, so that differences
// aren't NaN even if every x is -inf.
template <class T>
struct ExpSum {
  T largest, sum;

  __device__ __forceinline__ static T share(T x, T most) { return x == most ? T(1) : exp_of(x - most); }
  // Branch-free, so that loads can be issued ahead.
  __device__ __forceinline__ void add(T x) {
    bool grows = x > largest;
    T ratio = x == largest ? T(1) : exp_of(grows ? largest - x : x - largest);
    sum = grows ? sum * ratio + T(1) : sum + ratio;
    largest = grows ? x : largest;
  }
  __device__ __forceinline__ ExpSum merged(const ExpSum& other) const {
    T most = other.largest > largest ? other.largest : largest;
    return {most, sum * share(largest, most) + other.sum * share(other.largest, most)};
  }
};

// Partial moments of a few numbers, in float: their sums lose no more than the numbers themselves.
struct FewMoments {
  float sum, squares;

  __device__ __forceinline__ void add(float x) {
    sum += x;
    squares += x * x;
  }
};

// Mean and variance in one pass, in double: the difference of squares is exact enough for float.
struct Moments {
  double sum, squares;

  __device__ __forceinline__ void add(double x) {
    sum += x;
    squares += x * x;
  }
  // A conversion to double takes as long as eight multiplications.
  __device__ __forceinline__ void add(const FewMoments& few) {
    sum += static_cast<double>(few.sum);
    squares += static_cast<double>(few.squares);
  }
  __device__ __forceinline__ Moments merged(const Moments& other) const {
    return {sum + other.sum, squares + other.squares};
  }
  // The sum of (x - mean)^2.
  __device__ __forceinline__ double spread(double count) const {
    double difference = squares - sum * (sum / count);
    return difference < 0.0 ? 0.0 : difference;  // NaN passes
  }
};

// Shuffles a value from another lane, word by word.
template <class T>
__device__ __forceinline__ T value_of_lane(const T& value, int lane_mask) {
  constexpr int words = (sizeof(T) + 3) / 4;
  uint32_t parts[words] = {};
  memcpy(parts, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < words; ++i) parts[i] = __shfl_xor_sync(0xffffffffu, parts[i], lane_mask);
  T other;
  memcpy(&other, parts, sizeof(T));
  return other;
}

// Over groups of `lanes` adjacent lanes, a power of two. All 32 lanes of the warp must call it.
template <int lanes, class T, class Combine>
__device__ __forceinline__ T reduce_lanes(T value, Combine combine) {
  static_assert(lanes >= 1 && lanes <= 32 && (lanes & (lanes - 1)) == 0, "a power of two");
#pragma unroll
  for (int lane_mask = lanes / 2; lane_mask > 0; lane_mask /= 2)
    value = combine(value, value_of_lane(value, lane_mask));
  return value;
}

template <int threads, class T, class Combine>
__device__ __forceinline__ T reduce_block(T value, Combine combine) {
  constexpr int warps = threads / 32;
  static_assert(threads % 32 == 0 && warps <= 32 && (warps & (warps - 1)) == 0, "a power of two of warps");
  value = reduce_lanes<32>(value, combine);
  if constexpr (warps > 1) {
    __shared__ T of_warp[warps];
    __syncthreads();  // an earlier reduction may still read them
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = reduce_lanes<warps>(of_warp[threadIdx.x % warps], combine);
  }
  return value;
}

// Thread t of the block is in column t % columns; `depth` threads share a column, a power of two.
template <int columns, int depth, class T, class Combine>
__device__ __forceinline__ T reduce_columns(T value, Combine combine) {
  if constexpr (depth > 1) {
    __shared__ T of_thread[columns * depth];
    int thread = static_cast<int>(threadIdx.x);
    __syncthreads();
    of_thread[thread] = value;
#pragma unroll
    for (int half = depth / 2; half > 0; half /= 2) {
      __syncthreads();
      if (thread < columns * half)
        of_thread[thread] = combine(of_thread[thread], of_thread[thread + columns * half]);
    }
    __syncthreads();
    value = of_thread[thread % columns];
  }
  return value;
}

// The same for several values per thread, with shared barriers.
template <int columns, int depth, int width, class T, class Combine>
__device__ __forceinline__ void reduce_columns_of(T (&values)[width], Combine combine) {
  static_assert(depth > 1, "threads that share a column");
  __shared__ T of_thread[width][columns * depth];
  int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
#pragma unroll
  for (int v = 0; v < width; ++v) of_thread[v][thread] = values[v];
#pragma unroll
  for (int half = depth / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < columns * half) {
#pragma unroll
      for (int v = 0; v < width; ++v)
        of_thread[v][thread] = combine(of_thread[v][thread], of_thread[v][thread + columns * half]);
    }
  }
  __syncthreads();
#pragma unroll
  for (int v = 0; v < width; ++v) values[v] = of_thread[v][thread % columns];
}

}  // namespace stitch
