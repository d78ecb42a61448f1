// Recomputes in pairs of TF32 the sums of split_int8.h for which int8 is too coarse: rows and columns with
// negative scales are listed, and every block takes tiles of the list by all of the other side. Up to 256
// rows in tiles of 32 x 96 with long steps of depth, since few blocks wait for memory; more rows, and
// columns, in tiles of 128 x 96. Usually the list is empty, and only the scales are read.
#pragma once

#include <type_traits>

#include "stitch/kernels/matmul_tensor_core.h"
#include "stitch/runtime/vectors.h"

namespace stitch {

struct FewMarkedTiles {
  static constexpr int warp_rows = 2, warp_columns = 4, row_tiles = 1, column_tiles = 3;
  static constexpr int depth_tile = 64, stages = 1;
};
struct MarkedTiles {
  static constexpr int warp_rows = 4, warp_columns = 2, row_tiles = 2, column_tiles = 6;
  static constexpr int depth_tile = 32, stages = 1;
};
template <class Product>
struct RestoredProduct : Product {
  static constexpr bool left_by_depth = true, right_by_depth = true;
};

// Like plain_sum.
template <class LeftOperand, class RightOperand>
__device__ __noinline__ float restored_sum(LeftOperand left_operand, RightOperand right_operand,
                                           const __half* __restrict__ left, const __half* __restrict__ right,
                                           int64_t row, int64_t column) {
  float sum = 0.0f;
  for (int64_t k = 0; k < LeftOperand::depth; k += 4) {
    const Pack<float, 4> a = left_operand.restored(left, row, k),
                         b = right_operand.restored(right, column, k);
    for (int i = 0; i < 4; ++i)
      if (k + i < LeftOperand::source_depth) sum = fmaf(a[i], b[i], sum);
  }
  return sum;
}

// A block's tile of sums: rows and columns of all batches, -1: none.
struct MarkedPlaces {
  int rows[128], columns[96];
  int counts[8];  // per warp
};

// Lists marked indices from number `first` on, at most `most`; returns how many there are in all.
__device__ inline int list_marked(const float* __restrict__ scales, int count, int offset, int first,
                                  int most, int* listed, int* counts) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  if (thread < most) listed[thread] = -1;
  int seen = 0;
  for (int base = 0; base < count; base += 256) {
    const bool marked = base + thread < count && scales[offset + base + thread] < 0.0f;
    const unsigned all = __ballot_sync(0xffffffffu, marked);
    if (lane == 0) counts[warp] = __popc(all);
    __syncthreads();
    int rank = seen + __popc(all & ((1u << lane) - 1u)) - first;
    for (int i = 0; i < 8; ++i) {
      if (i < warp) rank += counts[i];
      seen += counts[i];
    }
    if (marked && rank >= 0 && rank < most) listed[rank] = offset + base + thread;
    __syncthreads();
  }
  return seen;
}

// A thread's numbers of one side's tile, four from the same place of several rows: prefetched during the
// previous step.
template <class Operand, class Tile, int quads>
struct RestoredRows {
  static constexpr int each = Tile::side * quads / 256, apart = 256 / quads;
  Operand operand;
  int row[each];  // -1: none
  float scale[each], centre[each];
  typename Operand::Four next[each];

  __device__ __forceinline__ RestoredRows(Operand of, const __half* __restrict__ split, const int* places)
      : operand(of) {
#pragma unroll
    for (int j = 0; j < each; ++j) {
      row[j] = places[threadIdx.x / quads + j * apart];
      scale[j] = row[j] < 0 ? 1.0f : operand.scales(split)[row[j]];
      centre[j] = row[j] < 0 ? 0.0f : operand.centre(split, row[j]);
    }
  }
  __device__ __forceinline__ void fetch(const __half* __restrict__ split, int64_t k) {
    const int64_t clamped = k < Operand::depth ? k : 0;
#pragma unroll
    for (int j = 0; j < each; ++j) next[j] = operand.four(split, row[j] < 0 ? 0 : row[j], clamped);
  }
  __device__ __forceinline__ void store(float* tile, int64_t k, int of_tile) const {
#pragma unroll
    for (int j = 0; j < each; ++j) {
      Pack<float, 4> values = {};
      if (row[j] >= 0 && k < Operand::depth) values = Operand::restored(next[j], scale[j], centre[j]);
      *reinterpret_cast<Pack<float, 4>*>(
          tile + Tile::at(static_cast<int>(threadIdx.x) / quads + j * apart, of_tile)) = values;
    }
  }
};

// Stores the valid rows by columns into dense (batches · rows, columns).
template <class Tiles, class LeftOperand, class RightOperand>
__device__ __forceinline__ void sums_again(LeftOperand left_operand, RightOperand right_operand,
                                           const __half* __restrict__ left, const __half* __restrict__ right,
                                           float* __restrict__ dense, float* tiles,
                                           const MarkedPlaces& places) {
  using Restored = RestoredProduct<decltype(left_operand.product)>;
  const int64_t pitch = left_operand.product.columns;
  using Sizes = TensorCoreProduct<Restored, Tiles>;
  static_assert(Sizes::threads == 256 && Sizes::rows <= 128 && Sizes::columns == 96);
  constexpr int quads = Tiles::depth_tile / 4;
  constexpr int64_t steps = (LeftOperand::depth + Tiles::depth_tile - 1) / Tiles::depth_tile;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int warp_row = warp / Tiles::warp_columns * Tiles::row_tiles * 16,
            warp_column = warp % Tiles::warp_columns * Tiles::column_tiles * 8;
  const int of_tile = thread % quads * 4;  // this thread's depth offset

  RestoredRows<LeftOperand, typename Sizes::Left, quads> rows(left_operand, left, places.rows);
  RestoredRows<RightOperand, typename Sizes::Right, quads> columns(right_operand, right, places.columns);
  float sums[Tiles::row_tiles][Tiles::column_tiles][4] = {},
        totals[Tiles::row_tiles][Tiles::column_tiles][4] = {};
  rows.fetch(left, of_tile);
  columns.fetch(right, of_tile);
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t k = step * Tiles::depth_tile + of_tile;
    rows.store(tiles, k, of_tile);
    columns.store(tiles + Sizes::Left::elements, k, of_tile);
    __syncthreads();
    rows.fetch(left, k + Tiles::depth_tile);
    columns.fetch(right, k + Tiles::depth_tile);
    multiply_tiles<Restored, Tiles>(sums, tiles, tiles + Sizes::Left::elements, warp_row, warp_column);
    __syncthreads();
    if (step % Sizes::folded_steps == Sizes::folded_steps - 1 || step + 1 == steps) fold_sums(totals, sums);
  }
#pragma unroll
  for (int m = 0; m < Tiles::row_tiles; ++m)
#pragma unroll
    for (int n = 0; n < Tiles::column_tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int64_t row = places.rows[warp_row + m * 16 + i / 2 * 8 + lane / 4],
                      column = places.columns[warp_column + n * 8 + lane % 4 * 2 + i % 2];
        if (row < 0 || column < 0) continue;
        dense[row * pitch + column % pitch] =
            isfinite(totals[m][n][i]) ? totals[m][n][i]
                                      : restored_sum(left_operand, right_operand, left, right, row, column);
      }
}

// Blocks per batch.
template <class Product>
__host__ __device__ constexpr int marked_blocks(Product product) {
  using Few = TensorCoreProduct<RestoredProduct<Product>, FewMarkedTiles>;
  const int64_t tiles = int64_t{(product.rows + Few::rows - 1) / Few::rows} *
                        ((product.columns + Few::columns - 1) / Few::columns),
                most = product.batches < 264 ? 264 / product.batches : 1;
  return static_cast<int>(tiles < most ? tiles : most);
}

template <class LeftOperand, class RightOperand>
__global__ void __launch_bounds__(256)
    marked_sums_kernel(const __half* __restrict__ left, const __half* __restrict__ right,
                       float* __restrict__ dense, LeftOperand left_operand, RightOperand right_operand) {
  wait_for_previous_kernel();
  const auto product = left_operand.product;
  using Product = std::remove_const_t<decltype(product)>;
  using Few = TensorCoreProduct<RestoredProduct<Product>, FewMarkedTiles>;
  using Many = TensorCoreProduct<RestoredProduct<Product>, MarkedTiles>;
  constexpr int wide = Many::columns, few = 256;
  const int rows = static_cast<int>(product.rows), columns = static_cast<int>(product.columns),
            column_blocks = (columns + wide - 1) / wide, row_blocks = (rows + Many::rows - 1) / Many::rows;
  __shared__ float tiles[Few::stage > Many::stage ? Few::stage : Many::stage];
  __shared__ MarkedPlaces places;
  const int blocks = marked_blocks(product);
  const int thread = static_cast<int>(threadIdx.x), batch = static_cast<int>(blockIdx.x) / blocks;
  const int first_row = batch * rows, first_column = batch * columns;
  const float *row_scales = left_operand.scales(left), *column_scales = right_operand.scales(right);
  bool marked = false;
#pragma unroll 8
  for (int i = thread; i < rows; i += 256) marked |= row_scales[first_row + i] < 0.0f;
#pragma unroll 8
  for (int i = thread; i < columns; i += 256) marked |= column_scales[first_column + i] < 0.0f;
  if (!__syncthreads_or(marked)) return;

  const int marked_rows = list_marked(row_scales, rows, first_row, 0, 0, places.rows, places.counts),
            marked_columns =
                list_marked(column_scales, columns, first_column, 0, 0, places.columns, places.counts);
  const int high = marked_rows <= few ? Few::rows : Many::rows;
  const int of_rows = (marked_rows + high - 1) / high * column_blocks,
            of_columns = (marked_columns + wide - 1) / wide * row_blocks;
  for (int job = static_cast<int>(blockIdx.x) % blocks; job < of_rows + of_columns; job += blocks) {
    if (job < of_rows) {
      list_marked(row_scales, rows, first_row, job / column_blocks * high, high, places.rows, places.counts);
      const int column = job % column_blocks * wide + thread;
      if (thread < wide) places.columns[thread] = column < columns ? first_column + column : -1;
    } else {
      list_marked(column_scales, columns, first_column, (job - of_rows) / row_blocks * wide, wide,
                  places.columns, places.counts);
      // Marked rows are done already.
      const int row = (job - of_rows) % row_blocks * Many::rows + thread;
      if (thread < Many::rows)
        places.rows[thread] = row < rows && row_scales[first_row + row] >= 0.0f ? first_row + row : -1;
    }
    __syncthreads();
    if (job < of_rows && high == Few::rows)
      sums_again<FewMarkedTiles>(left_operand, right_operand, left, right, dense, tiles, places);
    else
      sums_again<MarkedTiles>(left_operand, right_operand, left, right, dense, tiles, places);
    __syncthreads();
  }
}

}  // namespace stitch
