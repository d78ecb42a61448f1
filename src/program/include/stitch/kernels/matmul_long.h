// Long sums of few results, FP32 at FP32's accuracy on fp16 tensor cores: Σ_k Left[batch, row, k] ·
// Right[batch, k, column] over one segment of the depth a block, which a finishing pass adds up
// (matmul_arrange.h). Tiles of 128 x 128 results and 32 deep are split on their way into shared memory,
// x · scale = high + low (split_tile.h): nothing is split in memory before, where that would be most of the
// work (256 x 524288 x 256: 0.65 of 1.18 ms on an H200 by split_half.h). Every 256 steps of depth are added
// up by themselves, since tensor cores cut sums off. A block's scales are those of its first tiles, with room
// for numbers 64 times as large. If that is not enough, sums overflow, and the block begins anew with scales
// of all of its numbers; sums of infinities and NaN are then made one product after the other. Reads each
// side once for every tile of the other; chosen where results are few and both sides are computed.
//   struct MatmulLong {
//     static constexpr int64_t segment = 16128;  // of the depth, a multiple of 32
//     static constexpr bool left_quads = true, right_quads = true;  // four neighbours side by side
//   };
#pragma once

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/split_tile.h"
#include "stitch/runtime/tensors.h"

namespace stitch {
template <class P, class T>
struct LongSums {
  using Index = typename P::Index;
  static constexpr int threads = 256, rows = 128, columns = 128, deep = 32, folded_steps = 8;
  static constexpr int warps_across = 2, row_tiles = 2, column_tiles = 8;  // of a warp: 32 x 64
  static constexpr int left_pitch = deep + 8, right_pitch = (P::right_by_depth ? deep : columns) + 8;
  static constexpr int left_part = rows * left_pitch,
                       right_part = (P::right_by_depth ? columns : deep) * right_pitch;
  static constexpr int stage = 2 * (left_part + right_part);  // numbers of fp16
  static constexpr size_t shared_bytes = 2 * stage * sizeof(__half);
  static constexpr Index row_blocks = (P::rows + rows - 1) / rows,
                         column_blocks = (P::columns + columns - 1) / columns;
  static constexpr int64_t tiles = int64_t{P::batches} * row_blocks * column_blocks;
  static constexpr int64_t segments = (int64_t{P::depth} + T::segment - 1) / T::segment;
  static_assert(P::left_by_depth && T::segment % deep == 0);
};

// A warp's sums over one tile of depth.
template <class P, class T>
__device__ __forceinline__ void multiply_long(float (&sums)[2][8][4], const __half* left, const __half* right,
                                              int warp_row, int warp_column) {
  using S = LongSums<P, T>;
#pragma unroll
  for (int d = 0; d < S::deep; d += 16) {
    MmaLeft high[S::row_tiles], low[S::row_tiles];
#pragma unroll
    for (int m = 0; m < S::row_tiles; ++m) {
      const __half* at = left + (warp_row + m * 16) * S::left_pitch + d;
      high[m] = load_left(at, S::left_pitch);
      low[m] = load_left(at + S::left_part, S::left_pitch);
    }
#pragma unroll
    for (int n = 0; n < S::column_tiles; n += 2) {
      MmaRight right_high[2], right_low[2];
      if constexpr (P::right_by_depth) {
        const __half* at = right + (warp_column + n * 8) * S::right_pitch + d;
        load_right_from_rows(right_high, at, S::right_pitch);
        load_right_from_rows(right_low, at + S::right_part, S::right_pitch);
      } else {
        const __half* at = right + d * S::right_pitch + warp_column + n * 8;
        load_right_from_columns(right_high, at, S::right_pitch);
        load_right_from_columns(right_low, at + S::right_part, S::right_pitch);
      }
#pragma unroll
      for (int m = 0; m < S::row_tiles; ++m)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          mma(sums[m][n + e], high[m], right_low[e]);
          mma(sums[m][n + e], low[m], right_high[e]);
          mma(sums[m][n + e], high[m], right_high[e]);
        }
    }
  }
}

template <class P>
__device__ __noinline__ float sum_of_segment(const float* __restrict__ left, const float* __restrict__ right,
                                             typename P::Index batch, typename P::Index row,
                                             typename P::Index column, int64_t begin, int64_t end) {
  using Index = typename P::Index;
  float sum = 0.0f;
  for (int64_t k = begin; k < end; ++k)
    sum = fmaf(left[P::left(batch, row, static_cast<Index>(k))],
               right[P::right(batch, static_cast<Index>(k), column)], sum);
  return sum;
}

// partials (segments, batches, rows, columns)
template <class P, class T, bool vectors>
__global__ void __launch_bounds__(256)
    long_sums_kernel(const float* __restrict__ left, const float* __restrict__ right,
                     float* __restrict__ partials) {
  wait_for_previous_kernel();
  using S = LongSums<P, T>;
  using Index = typename P::Index;
  extern __shared__ uint4 long_shared[];
  __half* tiles = reinterpret_cast<__half*>(long_shared);  // two stages of left and right
  __shared__ unsigned found[2][8];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / S::warps_across * 32, warp_column = warp % S::warps_across * 64;
  const int64_t tile = blockIdx.x;
  const Index column0 = static_cast<Index>(tile % S::column_blocks) * S::columns,
              row0 = static_cast<Index>(tile / S::column_blocks % S::row_blocks) * S::rows,
              batch = static_cast<Index>(tile / S::column_blocks / S::row_blocks);
  const bool idle = row0 + warp_row >= P::rows || column0 + warp_column >= P::columns;
  const int64_t begin = static_cast<int64_t>(blockIdx.y) * T::segment,
                end = begin + T::segment < P::depth ? begin + T::segment : int64_t{P::depth};

  HeldTile<256, S::rows, S::deep> held_left;
  HeldTile<256, P::right_by_depth ? S::columns : S::deep, P::right_by_depth ? S::deep : S::columns>
      held_right;
  auto fetch = [&](int64_t k0) {
    const int there = end - k0 < S::deep ? static_cast<int>(end - k0) : S::deep;
    const Index at = static_cast<Index>(k0), high = P::rows - row0, wide = P::columns - column0;
    held_left.template fetch<vectors && T::left_quads>(
        left, high, there, [&](int row, int k) { return P::left(batch, row0 + row, at + k); });
    if constexpr (P::right_by_depth)
      held_right.template fetch<vectors && T::right_quads>(
          right, wide, there, [&](int column, int k) { return P::right(batch, at + k, column0 + column); });
    else
      held_right.template fetch<vectors && T::right_quads>(
          right, there, wide < S::columns ? static_cast<int>(wide) : S::columns,
          [&](int k, int column) { return P::right(batch, at + k, column0 + column); });
  };
  // Largest magnitudes of all threads, of the left side and the right one.
  auto publish = [&](unsigned of_left, unsigned of_right) {
    __syncthreads();
    if (lane == 0) found[0][warp] = of_left, found[1][warp] = of_right;
    __syncthreads();
  };

  float totals[S::row_tiles][S::column_tiles][4];
  float left_scale = 1.0f, right_scale = 1.0f;
  for (bool again = false;; again = true) {
    if (!again) {
      constexpr float room = 1.0f / 64;
      fetch(begin);
      publish(held_left.largest(), held_right.largest());
      const unsigned of_left = largest_of(found[0]), of_right = largest_of(found[1]);
      if (of_left == 0 || of_right == 0) continue;
      left_scale = room * half_range_scale(of_left), right_scale = room * half_range_scale(of_right);
    } else {
      unsigned of_left = 0, of_right = 0;
      for (int64_t k0 = begin; k0 < end; k0 += S::deep) {
        fetch(k0);
        of_left = max(of_left, held_left.largest()), of_right = max(of_right, held_right.largest());
      }
      publish(of_left, of_right);
      left_scale = half_range_scale(largest_of(found[0])),
      right_scale = half_range_scale(largest_of(found[1]));
      fetch(begin);
    }
    auto put = [&](int stage) {
      held_left.template put<2>(tiles + stage * S::stage, S::left_pitch, S::left_part, left_scale);
      held_right.template put<2>(tiles + stage * S::stage + 2 * S::left_part, S::right_pitch, S::right_part,
                                 right_scale);
    };
    float sums[S::row_tiles][S::column_tiles][4] = {};
    auto fold = [&] {
#pragma unroll
      for (int m = 0; m < S::row_tiles; ++m)
#pragma unroll
        for (int n = 0; n < S::column_tiles; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            totals[m][n][i] += sums[m][n][i];
            sums[m][n][i] = 0.0f;
          }
    };
#pragma unroll
    for (int m = 0; m < S::row_tiles; ++m)
#pragma unroll
      for (int n = 0; n < S::column_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) totals[m][n][i] = 0.0f;
    put(0);
    __syncthreads();
    int stage = 0, step = 0;
    for (int64_t k0 = begin; k0 < end; k0 += S::deep) {
      const bool more = k0 + S::deep < end;
      if (more) fetch(k0 + S::deep);  // on its way while this tile is multiplied
      if (!idle)
        multiply_long<P, T>(sums, tiles + stage * S::stage, tiles + stage * S::stage + 2 * S::left_part,
                            warp_row, warp_column);
      if (more) put(1 - stage);
      stage = 1 - stage;
      if (++step % S::folded_steps == 0) fold();
      __syncthreads();
    }
    fold();
    bool overflown = false;
#pragma unroll
    for (int m = 0; m < S::row_tiles; ++m)
#pragma unroll
      for (int n = 0; n < S::column_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) overflown = overflown || !isfinite(totals[m][n][i]);
    if (again || !__syncthreads_or(overflown)) break;
  }

  partials += (static_cast<int64_t>(blockIdx.y) * P::batches + batch) * (int64_t{P::rows} * P::columns);
#pragma unroll
  for (int m = 0; m < S::row_tiles; ++m)
#pragma unroll
    for (int n = 0; n < S::column_tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const Index row = row0 + warp_row + m * 16 + i / 2 * 8 + lane / 4,
                    column = column0 + warp_column + n * 8 + lane % 4 * 2 + i % 2;
        if (row >= P::rows || column >= P::columns) continue;
        float sum = totals[m][n][i] / left_scale / right_scale;
        if (!isfinite(totals[m][n][i])) sum = sum_of_segment<P>(left, right, batch, row, column, begin, end);
        partials[int64_t{row} * P::columns + column] = sum;
      }
}

template <class P, class T>
StitchStatus enqueue_long_sums(const char* name, const float* left, const float* right, float* partials,
                               cudaStream_t stream) {
  using S = LongSums<P, T>;
  static_assert(S::tiles < (int64_t{1} << 31) && S::segments < 65536, "more blocks than a grid has");
  const Geometry geometry{
      {static_cast<unsigned>(S::tiles), static_cast<unsigned>(S::segments)}, S::threads, S::shared_bytes};
  if constexpr (T::left_quads || T::right_quads)
    if (is_aligned(left, 16) && is_aligned(right, 16))
      return launch(name, long_sums_kernel<P, T, true>, geometry, stream, left, right, partials);
  return launch(name, long_sums_kernel<P, T, false>, geometry, stream, left, right, partials);
}

}  // namespace stitch
