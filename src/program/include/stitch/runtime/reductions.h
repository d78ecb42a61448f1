// Reductions over a warp and over a block; every thread gets the result. Mean and variance in one pass.
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

// All 32 lanes must call it. Types larger than a word define their own from_lane (Welford).
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

// Mean and variance in one pass without cancellation: Welford's update, and Chan's merge of two halves.
struct Welford {
  float mean, squares, count;  // squares: the sum of (x - mean)^2

  __device__ __forceinline__ void add(float x) {
    count += 1.0f;
    float delta = x - mean;
    mean += delta / count;
    squares += delta * (x - mean);
  }
  __device__ __forceinline__ float variance() const { return squares / count; }  // biased
  __device__ __forceinline__ float sample_variance() const { return squares / (count - 1.0f); }
};

struct Merge {
  __device__ __forceinline__ Welford operator()(const Welford& a, const Welford& b) const {
    float count = a.count + b.count;
    if (count == 0.0f) return a;
    float delta = b.mean - a.mean, share = b.count / count;
    return {a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share, count};
  }
};

__device__ __forceinline__ Welford from_lane(const Welford& value, int lane_mask) {
  return {from_lane(value.mean, lane_mask), from_lane(value.squares, lane_mask),
          from_lane(value.count, lane_mask)};
}

}  // namespace stitch
