// FP32 numbers as sums of two smaller ones, which tensor cores multiply at FP32 accuracy, with errors of
// 2^-22:
//   w · x = w_high · x_high + w_high · x_low + w_low · x_high
// As fp16: callers scale numbers into its range, and low parts by another `low_scale`, above its denormals.
// As TF32: without scales. The low part of an infinity is infinity - infinity, so NaN: callers split with
// split_halves_keeping_infinities, or recompute sums that aren't finite.
#pragma once

#include "stitch/runtime/mma.h"

namespace stitch {
// Two adjacent numbers as fp16.
struct HalfPairs {
  uint32_t high, low;
};
template <int low_scale = 1>
__device__ __forceinline__ HalfPairs split_halves(float first, float second) {
  const uint32_t pair = half_pair(first, second);
  const float2 high = float_pair(pair);
  return {pair, half_pair((first - high.x) * low_scale, (second - high.y) * low_scale)};
}
// Infinities and NaN go only into the low part, which is multiplied by w_high alone: w_low may have the other
// sign, and infinity minus infinity is NaN.
template <int low_scale>
__device__ __forceinline__ HalfPairs split_halves_keeping_infinities(float first, float second) {
  const uint32_t pair = half_pair(first, second);
  const float2 high = float_pair(pair);
  if (isfinite(high.x) && isfinite(high.y))
    return {pair, half_pair((first - high.x) * low_scale, (second - high.y) * low_scale)};
  const float kept[2] = {isfinite(high.x) ? high.x : 0.0f, isfinite(high.y) ? high.y : 0.0f};
  return {half_pair(kept[0], kept[1]),
          half_pair((first - kept[0]) * low_scale, (second - kept[1]) * low_scale)};
}
// One number, both parts in a word.
template <int low_scale>
__device__ __forceinline__ uint32_t split_half_word(float x) {
  const float high = __half2float(__float2half_rn(x));
  return half_pair(high, (x - high) * low_scale);
}
// One part of a number, where parts lie apart.
__device__ __forceinline__ float half_part(float x, bool low) {
  const float high = __half2float(__float2half(x));
  return low ? x - high : high;
}
// Two fp16 numbers times a power of two.
__device__ __forceinline__ uint32_t scaled_pair(uint32_t pair, float scale) {
  const __half2 scaled = __hmul2(*reinterpret_cast<const __half2*>(&pair), __float2half2_rn(scale));
  return *reinterpret_cast<const uint32_t*>(&scaled);
}

// A number as TF32.
struct Tf32Pair {
  uint32_t high, low;
};
__device__ __forceinline__ Tf32Pair split_tf32(float x) {
  const uint32_t high = tf32_bits(x);
  return {high, tf32_bits(x - __uint_as_float(high))};
}
__device__ __forceinline__ float tf32_part(float x, bool low) {
  const float high = __uint_as_float(tf32_bits(x));
  return low ? __uint_as_float(tf32_bits(x - high)) : high;
}

}  // namespace stitch
