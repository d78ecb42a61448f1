// Tiles of FP32 numbers on their way into shared memory as pairs of fp16 (split_pair.h), x · scale =
// high + low. Each tile has its own scale.
#pragma once

#include "stitch/kernels/split_pair.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// A tile in registers between global and shared memory: rows x padded features, four per thread at a time.
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

  // `at(row, feature)`: offset of an element; rows from `there` on and features from `width` on are zero.
  template <bool vectors, class Element, class Index, class At>
  __device__ __forceinline__ void fetch(const Element* __restrict__ from, Index there, int width, At at) {
#pragma unroll
    for (int j = 0; j < each; ++j) {
      values[j] = {};
      const int r = row(j), d = feature(j);
      if (!inside(j) || r >= there) continue;
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
