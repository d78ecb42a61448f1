// FP32 numbers as sums of two smaller ones, which tensor cores multiply at FP32 accuracy, with errors of
// 2^-22, and tiles of such pairs:
//   w · x = w_high · x_high + w_high · x_low + w_low · x_high
// As fp16: callers scale numbers into its range, and low parts by another `low_scale`, above its denormals.
// As TF32: without scales. The low part of an infinity is infinity - infinity, so NaN: callers split with
// split_halves_keeping_infinities, or recompute sums that aren't finite.
#pragma once

#include "stitch/runtime/mma.h"
#include "stitch/runtime/vectors.h"

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
template <int low_scale>
__device__ __forceinline__ __half low_half(float x, __half high) {
  return __float2half((x - __half2float(high)) * low_scale);
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
// Three instructions, where cvt.rna.tf32 takes eight (sm_90): tensor cores ignore the low part's extra bits.
// The high part may lose NaN, and the sum infinities; the low part is NaN for both.
__device__ __forceinline__ Tf32Pair split_tf32_by_bits(float x) {
  const uint32_t high = (__float_as_uint(x) + 0x1000u) & ~0x1fffu;
  return {high, __float_as_uint(x - __uint_as_float(high))};
}
__device__ __forceinline__ float tf32_part(float x, bool low) {
  const float high = __uint_as_float(tf32_bits(x));
  return low ? __uint_as_float(tf32_bits(x - high)) : high;
}

// sums += left · right, the small products first. `parts`: 2, or 1 for high parts alone.
template <int parts>
__device__ __forceinline__ void mma_parts(float (&sums)[4], const MmaLeft& left_high, const MmaLeft& left_low,
                                          const MmaRight& right_high, const MmaRight& right_low) {
  if constexpr (parts == 2) {
    mma(sums, left_high, right_low);
    mma(sums, left_low, right_high);
  }
  mma(sums, left_high, right_high);
}

// A matrix in shared memory: high parts, and `low` elements further the low ones.
struct SplitMatrix {
  const __half* high;
  int pitch, low;
};
// sums (16 · row_tiles, 8 · column_tiles) += left (rows, 16) · right (16, columns). `right_by_columns`: a row
// in memory is a column of `right`.
template <int parts, bool right_by_columns, int row_tiles, int column_tiles>
__device__ __forceinline__ void multiply_parts(float (&sums)[row_tiles][column_tiles][4], SplitMatrix left,
                                               SplitMatrix right) {
  MmaLeft left_high[row_tiles], left_low[row_tiles];
#pragma unroll
  for (int m = 0; m < row_tiles; ++m) {
    const __half* at = left.high + m * 16 * left.pitch;
    left_high[m] = load_left(at, left.pitch);
    if constexpr (parts == 2) left_low[m] = load_left(at + left.low, left.pitch);
  }
#pragma unroll
  for (int n = 0; n < column_tiles; n += 2) {
    MmaRight right_high[2], right_low[2];
    const auto load = [&](MmaRight(&to)[2], const __half* from) {
      if constexpr (right_by_columns)
        load_right_from_rows(to, from + n * 8 * right.pitch, right.pitch);
      else
        load_right_from_columns(to, from + n * 8, right.pitch);
    };
    load(right_high, right.high);
    if constexpr (parts == 2) load(right_low, right.high + right.low);
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        mma_parts<parts>(sums[m][n + e], left_high[m], left_low[m], right_high[e], right_low[e]);
  }
}

// A tile of FP32 numbers in registers on its way into shared memory as pairs of fp16, x · scale = high + low:
// rows x padded features, four per thread at a time. Each tile has its own scale.
template <int threads, int rows, int padded>
struct HeldTile {
  static constexpr int quads = rows * padded / 4, each = (quads + threads - 1) / threads;
  Pack<float, 4> values[each];

  __device__ __forceinline__ static int row(int j) {
    return static_cast<int>(threadIdx.x + j * threads) / (padded / 4);
  }
  __device__ __forceinline__ static int feature(int j) {
    return static_cast<int>(threadIdx.x + j * threads) % (padded / 4) * 4;
  }
  __device__ __forceinline__ static bool inside(int j) {
    return quads % threads == 0 || static_cast<int>(threadIdx.x) + j * threads < quads;
  }

  // `at(row, feature)`: offset of an element; rows from `row_count` on and features from `width` on are zero.
  template <bool vectors, class Element, class Index, class At>
  __device__ __forceinline__ void fetch(const Element* __restrict__ from, Index row_count, int width, At at) {
#pragma unroll
    for (int j = 0; j < each; ++j) {
      values[j] = {};
      const int r = row(j), d = feature(j);
      if (!inside(j) || r >= row_count) continue;
      if constexpr (vectors) {
        if (d < width) values[j] = load<4>(from + at(r, d), 0);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (d + i < width) values[j][i] = static_cast<float>(from[at(r, d + i)]);
      }
    }
  }
  // The warp's largest magnitude as bits; magnitudes compare like their bits.
  __device__ __forceinline__ unsigned largest() const {
    unsigned most = 0;
#pragma unroll
    for (int j = 0; j < each; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) most = max(most, __float_as_uint(fabsf(values[j][i])));
    return __reduce_max_sync(0xffffffffu, most);
  }
  // High parts, and `parts_apart` elements further the low ones.
  template <int parts>
  __device__ __forceinline__ void put(__half* tile, int pitch, int parts_apart, float scale) const {
#pragma unroll
    for (int j = 0; j < each; ++j) {
      if (!inside(j)) continue;
      Pack<uint32_t, 2> high, low;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const HalfPairs two = split_halves(values[j][2 * i] * scale, values[j][2 * i + 1] * scale);
        high[i] = two.high, low[i] = two.low;
      }
      __half* to = tile + row(j) * pitch + feature(j);
      *reinterpret_cast<Pack<uint32_t, 2>*>(to) = high;
      if constexpr (parts == 2) *reinterpret_cast<Pack<uint32_t, 2>*>(to + parts_apart) = low;
    }
  }
};

// The power of two that brings a magnitude just below 2^15.
__device__ __forceinline__ float half_range_scale(unsigned magnitude) {
  const unsigned exponent = magnitude >> 23;
  if (exponent == 0 || exponent == 255) return 1.0f;
  return __uint_as_float(min(127 + 14 + 127 - exponent, 254u) << 23);
}
// The largest over the warps.
template <int warps>
__device__ __forceinline__ unsigned largest_of(const unsigned (&found)[warps]) {
  unsigned most = found[0];
#pragma unroll
  for (int warp = 1; warp < warps; ++warp) most = max(most, found[warp]);
  return most;
}

}  // namespace stitch
