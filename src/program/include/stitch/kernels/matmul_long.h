// Long sums with few results at FP32 accuracy on fp16 tensor cores: Σ_k Left[batch, row, k] · Right[batch, k,
// column] over one segment of the depth per block, summed by a finishing pass (matmul_arrange.h). Tiles of
// 128 x 128 results and depth 32 are split on their way into shared memory, x · scale = high + low
// (split_pair.h): splitting in memory first would be most of the work (256 x 524288 x 256: 0.65 of 1.18 ms on
// an H200 by split_half.h). Every 256 steps of depth are summed separately, since tensor cores truncate. A
// block's scales come from its first tiles, with room for numbers 64 times as large. If that isn't enough,
// sums overflow and the block restarts with scales from all its numbers; sums of infinities and NaN are then
// computed directly. Reads each side once per tile of the other; chosen where results are few and both sides
// are computed.
//   struct MatmulLong {
//     static constexpr int64_t segment = 16128;  // of the depth, a multiple of 32
//     static constexpr bool left_quads = true, right_quads = true;  // four contiguous elements
//   };
#pragma once

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/split_pair.h"
#include "stitch/runtime/tensors.h"

namespace stitch {
template <class Product, class Tiles>
struct LongSums {
  using Index = typename Product::Index;
  static constexpr int threads = 256, rows = 128, columns = 128, deep = 32, folded_steps = 8;
  static constexpr int warps_across = 2, row_tiles = 2, column_tiles = 8;  // of a warp: 32 x 64
  static constexpr int left_pitch = deep + 8, right_pitch = (Product::right_by_depth ? deep : columns) + 8;
  static constexpr int left_part = rows * left_pitch,
                       right_part = (Product::right_by_depth ? columns : deep) * right_pitch;
  static constexpr int stage = 2 * (left_part + right_part);  // in fp16 elements
  static constexpr size_t shared_bytes = 2 * stage * sizeof(__half);
  __host__ __device__ static constexpr Index row_blocks(Product product) {
    return (product.rows + rows - 1) / rows;
  }
  __host__ __device__ static constexpr Index column_blocks(Product product) {
    return (product.columns + columns - 1) / columns;
  }
  static_assert(Product::left_by_depth && Tiles::segment % deep == 0);
};

// A warp's sums over one tile of depth.
template <class Product, class Tiles>
__device__ __forceinline__ void multiply_long(float (&sums)[2][8][4], const __half* left, const __half* right,
                                              int warp_row, int warp_column) {
  using Sizes = LongSums<Product, Tiles>;
#pragma unroll
  for (int d = 0; d < Sizes::deep; d += 16) {
    MmaLeft high[Sizes::row_tiles], low[Sizes::row_tiles];
#pragma unroll
    for (int m = 0; m < Sizes::row_tiles; ++m) {
      const __half* at = left + (warp_row + m * 16) * Sizes::left_pitch + d;
      high[m] = load_left(at, Sizes::left_pitch);
      low[m] = load_left(at + Sizes::left_part, Sizes::left_pitch);
    }
#pragma unroll
    for (int n = 0; n < Sizes::column_tiles; n += 2) {
      MmaRight right_high[2], right_low[2];
      if constexpr (Product::right_by_depth) {
        const __half* at = right + (warp_column + n * 8) * Sizes::right_pitch + d;
        load_right_from_rows(right_high, at, Sizes::right_pitch);
        load_right_from_rows(right_low, at + Sizes::right_part, Sizes::right_pitch);
      } else {
        const __half* at = right + d * Sizes::right_pitch + warp_column + n * 8;
        load_right_from_columns(right_high, at, Sizes::right_pitch);
        load_right_from_columns(right_low, at + Sizes::right_part, Sizes::right_pitch);
      }
#pragma unroll
      for (int m = 0; m < Sizes::row_tiles; ++m)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          mma_parts<2>(sums[m][n + e], high[m], low[m], right_high[e], right_low[e]);
    }
  }
}

template <class Product>
__device__ __noinline__ float sum_of_segment(Product product, const float* __restrict__ left,
                                             const float* __restrict__ right, typename Product::Index batch,
                                             typename Product::Index row, typename Product::Index column,
                                             int64_t begin, int64_t end) {
  using Index = typename Product::Index;
  float sum = 0.0f;
  for (int64_t k = begin; k < end; ++k)
    sum = fmaf(left[product.left(batch, row, static_cast<Index>(k))],
               right[product.right(batch, static_cast<Index>(k), column)], sum);
  return sum;
}

// partials (segments, batches, rows, columns)
template <class Product, class Tiles, bool vectors>
__global__ void __launch_bounds__(256)
    long_sums_kernel(const float* __restrict__ left, const float* __restrict__ right,
                     float* __restrict__ partials, Product product) {
  wait_for_previous_kernel();
  using Sizes = LongSums<Product, Tiles>;
  using Index = typename Product::Index;
  extern __shared__ uint4 long_shared[];
  __half* tiles = reinterpret_cast<__half*>(long_shared);  // two stages of left and right
  __shared__ unsigned found[2][8];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / Sizes::warps_across * 32, warp_column = warp % Sizes::warps_across * 64;
  const int64_t tile = blockIdx.x;
  const Index row_blocks = Sizes::row_blocks(product), column_blocks = Sizes::column_blocks(product);
  const Index column0 = static_cast<Index>(tile % column_blocks) * Sizes::columns,
              row0 = static_cast<Index>(tile / column_blocks % row_blocks) * Sizes::rows,
              batch = static_cast<Index>(tile / column_blocks / row_blocks);
  const bool idle = row0 + warp_row >= product.rows || column0 + warp_column >= product.columns;
  const int64_t begin = static_cast<int64_t>(blockIdx.y) * Tiles::segment,
                end =
                    begin + Tiles::segment < product.depth ? begin + Tiles::segment : int64_t{product.depth};

  HeldTile<256, Sizes::rows, Sizes::deep> held_left;
  HeldTile<256, Product::right_by_depth ? Sizes::columns : Sizes::deep,
           Product::right_by_depth ? Sizes::deep : Sizes::columns>
      held_right;
  auto fetch = [&](int64_t k0) {
    const int depth_count = end - k0 < Sizes::deep ? static_cast<int>(end - k0) : Sizes::deep;
    const Index at = static_cast<Index>(k0), high = product.rows - row0, wide = product.columns - column0;
    held_left.template fetch<vectors && Tiles::left_quads>(
        left, high, depth_count, [&](int row, int k) { return product.left(batch, row0 + row, at + k); });
    if constexpr (Product::right_by_depth)
      held_right.template fetch<vectors && Tiles::right_quads>(
          right, wide, depth_count,
          [&](int column, int k) { return product.right(batch, at + k, column0 + column); });
    else
      held_right.template fetch<vectors && Tiles::right_quads>(
          right, depth_count, wide < Sizes::columns ? static_cast<int>(wide) : Sizes::columns,
          [&](int k, int column) { return product.right(batch, at + k, column0 + column); });
  };
  // Largest magnitudes over all threads, of the left and right side.
  auto publish = [&](unsigned of_left, unsigned of_right) {
    __syncthreads();
    if (lane == 0) found[0][warp] = of_left, found[1][warp] = of_right;
    __syncthreads();
  };

  float totals[Sizes::row_tiles][Sizes::column_tiles][4];
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
      for (int64_t k0 = begin; k0 < end; k0 += Sizes::deep) {
        fetch(k0);
        of_left = max(of_left, held_left.largest()), of_right = max(of_right, held_right.largest());
      }
      publish(of_left, of_right);
      left_scale = half_range_scale(largest_of(found[0])),
      right_scale = half_range_scale(largest_of(found[1]));
      fetch(begin);
    }
    auto put = [&](int stage) {
      held_left.template put<2>(tiles + stage * Sizes::stage, Sizes::left_pitch, Sizes::left_part,
                                left_scale);
      held_right.template put<2>(tiles + stage * Sizes::stage + 2 * Sizes::left_part, Sizes::right_pitch,
                                 Sizes::right_part, right_scale);
    };
    float sums[Sizes::row_tiles][Sizes::column_tiles][4] = {};
#pragma unroll
    for (int m = 0; m < Sizes::row_tiles; ++m)
#pragma unroll
      for (int n = 0; n < Sizes::column_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) totals[m][n][i] = 0.0f;
    put(0);
    __syncthreads();
    int stage = 0, step = 0;
    for (int64_t k0 = begin; k0 < end; k0 += Sizes::deep) {
      const bool more = k0 + Sizes::deep < end;
      if (more) fetch(k0 + Sizes::deep);  // prefetched during the product
      if (!idle)
        multiply_long<Product, Tiles>(sums, tiles + stage * Sizes::stage,
                                      tiles + stage * Sizes::stage + 2 * Sizes::left_part, warp_row,
                                      warp_column);
      if (more) put(1 - stage);
      stage = 1 - stage;
      if (++step % Sizes::folded_steps == 0) fold_sums(totals, sums);
      __syncthreads();
    }
    fold_sums(totals, sums);
    bool overflown = false;
#pragma unroll
    for (int m = 0; m < Sizes::row_tiles; ++m)
#pragma unroll
      for (int n = 0; n < Sizes::column_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) overflown = overflown || !isfinite(totals[m][n][i]);
    if (again || !__syncthreads_or(overflown)) break;
  }

  partials += (static_cast<int64_t>(blockIdx.y) * product.batches + batch) *
              (int64_t{product.rows} * product.columns);
#pragma unroll
  for (int m = 0; m < Sizes::row_tiles; ++m)
#pragma unroll
    for (int n = 0; n < Sizes::column_tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const Index row = row0 + warp_row + m * 16 + i / 2 * 8 + lane / 4,
                    column = column0 + warp_column + n * 8 + lane % 4 * 2 + i % 2;
        if (row >= product.rows || column >= product.columns) continue;
        float sum = totals[m][n][i] / left_scale / right_scale;
        if (!isfinite(totals[m][n][i]))
          sum = sum_of_segment(product, left, right, batch, row, column, begin, end);
        partials[int64_t{row} * product.columns + column] = sum;
      }
}

template <class Tiles, class Product>
StitchStatus enqueue_long_sums(const char* name, Product product, const float* left, const float* right,
                               float* partials, cudaStream_t stream) {
  using Sizes = LongSums<Product, Tiles>;
  const int64_t tiles = int64_t{product.batches} * Sizes::row_blocks(product) * Sizes::column_blocks(product);
  const Geometry geometry{{blocks_of(tiles), blocks_of(divide_up(product.depth, Tiles::segment))},
                          Sizes::threads,
                          Sizes::shared_bytes};
  if constexpr (Tiles::left_quads || Tiles::right_quads)
    if (is_aligned(left, 16) && is_aligned(right, 16))
      return launch(name, long_sums_kernel<Product, Tiles, true>, geometry, stream, left, right, partials,
                    product);
  return launch(name, long_sums_kernel<Product, Tiles, false>, geometry, stream, left, right, partials,
                product);
}

}  // namespace stitch
