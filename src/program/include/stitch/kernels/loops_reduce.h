// Reductions of any small struct over the lanes that share a row: some lanes of a warp, a whole block, or the
// threads of a block that stand in one column. Every one of those threads gets the result.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "stitch/kernels/loops_math.h"

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
struct Maximum {  // NaN wins
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return maximum(a, b);
  }
};
struct Minimum {  // NaN wins
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

// The extreme and where it stands: the first of equals, and the first NaN before everything.
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
  // A thread meets its elements in order: of equals the first is there already.
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

// Sum of e^(x - largest) in one pass. `largest` starts at the lowest finite number: differences with it are
// numbers even when every x is -inf.
template <class T>
struct ExpSum {
  T largest, sum;

  __device__ __forceinline__ static T share(T x, T most) { return x == most ? T(1) : exp_of(x - most); }
  // Without a branch, so that loads can run ahead of it.
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

// The same of a few numbers, in float: their sums lose no more than the numbers themselves.
struct FewMoments {
  float sum, squares;

  __device__ __forceinline__ void add(float x) {
    sum += x;
    squares += x * x;
  }
};

// Mean and variance in one pass: in double, where the difference of squares loses nothing that float has.
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

// A value of another lane, word by word.
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

// Over groups of `lanes` neighbouring lanes, a power of two. All 32 lanes of the warp take part.
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
    __syncthreads();  // a reduction before this one may still read them
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = reduce_lanes<warps>(of_warp[threadIdx.x % warps], combine);
  }
  return value;
}

// Thread t of the block stands in column t % columns; `depth` threads share a column, a power of two.
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

// The same of several values a thread, which wait for each other once.
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
