// Mean and variance in one pass without cancellation: Welford's update, and Chan's merge of two halves.
#pragma once

#include "stitch/runtime/reductions.h"

namespace stitch {
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
