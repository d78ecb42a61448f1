// Reductions over a warp and over a block. Every thread gets the result.
#pragma once

#include <cuda_runtime.h>

namespace stitch {
struct Sum {
  __device__ __forceinline__ float operator()(float a, float b) const { return a + b; }
};
struct Maximum {
  // NaN propagates, as in PyTorch.
  __device__ __forceinline__ float operator()(float a, float b) const { return a > b || a != a ? a : b; }
};

__device__ __forceinline__ float from_lane(float value, int lane_mask) {
  return __shfl_xor_sync(0xffffffffu, value, lane_mask);
}

// All 32 lanes must call it. Types larger than a word define their own from_lane (welford.h).
template <class T, class Combine>
__device__ __forceinline__ T warp_reduce(T value, Combine combine) {
#pragma unroll
  for (int lane_mask = 16; lane_mask > 0; lane_mask /= 2) value = combine(value, from_lane(value, lane_mask));
  return value;
}

// All `threads` of a one-dimensional block must call it; `identity` is neutral.
template <int threads, class T, class Combine>
__device__ __forceinline__ T block_reduce(T value, T identity, Combine combine) {
  static_assert(threads % 32 == 0 && threads <= 1024, "whole warps");
  constexpr int warps = threads / 32;
  __shared__ T of_warp[warps];
  value = warp_reduce(value, combine);
  __syncthreads();  // an earlier reduction may still read the array
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  int lane = threadIdx.x % 32;
  return warp_reduce(lane < warps ? of_warp[lane] : identity, combine);
}

}  // namespace stitch
