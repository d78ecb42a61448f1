// Block-wide scans along a row, and the operators of the graph's scans.
#pragma once

#include "stitch/loops/reduce.h"

namespace stitch {
struct LogAddExp {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return log_add_exp(a, b);
  }
};

// The running extreme and its index: the latest of equals; NaN beats everything before it.
template <class T, bool largest>
struct Latest {
  T value;
  int64_t position;

  __device__ __forceinline__ Latest merged(const Latest& later) const {
    bool wins = later.value != later.value || (largest ? later.value >= value : later.value <= value);
    return wins ? later : *this;
  }
};

template <class T>
__device__ __forceinline__ T value_of_lane_before(const T& value, int distance) {
  constexpr int words = (sizeof(T) + 3) / 4;
  uint32_t parts[words] = {};
  memcpy(parts, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < words; ++i)
    parts[i] = __shfl_up_sync(0xffffffffu, parts[i], static_cast<unsigned>(distance));
  T other;
  memcpy(&other, parts, sizeof(T));
  return other;
}

// Exclusive scan over the block's threads, starting with `carry`, which becomes the total. Every thread of
// the block must call it.
template <int threads, class T, class Combine>
__device__ __forceinline__ T scan_block(T value, T& carry, Combine combine) {
  constexpr int warps = threads / 32;
  static_assert(threads % 32 == 0 && warps <= 32, "whole warps");
  __shared__ T of_warp[warps];
  int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    T before = value_of_lane_before(value, distance);
    if (lane >= distance) value = combine(before, value);
  }
  T exclusive = value_of_lane_before(value, 1);
  __syncthreads();  // the previous scan may still be read
  if (lane == 31) of_warp[warp] = value;
  __syncthreads();
  T start = carry;
  for (int w = 0; w < warps; ++w) {
    if (w == warp) start = carry;
    carry = combine(carry, of_warp[w]);
  }
  return lane == 0 ? start : combine(start, exclusive);
}

}  // namespace stitch
