// FP32 products on tensor cores at FP32 accuracy in one kernel: Out[batch, row, column] = epilogue(Σ_k
// Left[batch, row, k] · Right[batch, k, column]), described by a struct as in matmul.h. Every number is a
// pair of TF32, x = high + low, split in registers (split_pair.h):
//   left · right = high · low' + low · high' + high · high'
// Any strides: tiles of both sides are copied to shared memory in their layout (cp.async, `stages` of them),
// and a warp computes 16 · row_tiles x 8 · column_tiles sums. Tensor cores truncate sums instead of rounding
// them (split_half.h), so every 256 steps of depth are summed separately. Reads both sides once per tile of
// the other, and writes the result once. Chosen where products are bound by these bytes: batches of small
// ones, and few columns.
//   struct Fc1Tiles {
//     static constexpr int warp_rows = 4, warp_columns = 1;  // warps of a block
//     static constexpr int row_tiles = 2, column_tiles = 6;  // of a warp, 16 rows and 8 columns each
//     static constexpr int depth_tile = 32, stages = 3;      // 8, 16 or 32
//     static constexpr bool folds = true;                    // sums may be longer than 256
//     // Four elements are contiguous along the depth or the other side; two of the result.
//     static constexpr bool left_quads = true, right_quads = true, out_pairs = true;
//   };
#pragma once

#include "stitch/kernels/matmul.h"
#include "stitch/kernels/shared_memory.h"
#include "stitch/kernels/split_pair.h"
#include "stitch/runtime/async_copy.h"
#include "stitch/runtime/mma.h"
#include "stitch/runtime/tensors.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// One side's tile in shared memory, in its memory layout: (side, depth) or (depth, side). The pitches avoid
// bank conflicts: a warp reads 8 elements along the side and 4 along the depth.
template <int side_count, int depth_count, bool is_depth_inside>
struct OperandTile {
  static constexpr int side = side_count, depth = depth_count;
  static constexpr bool depth_inside = is_depth_inside;
  static constexpr int inner = depth_inside ? depth : side, outer = depth_inside ? side : depth;
  static constexpr int pitch = static_cast<int>(shared_memory::product_pitch(inner, depth_inside));
  static constexpr int elements = outer * pitch;
  static __device__ __forceinline__ int at(int of_side, int k) {
    return depth_inside ? of_side * pitch + k : k * pitch + of_side;
  }

  // `from_at(side, k)`: offset of an element. Zeros outside.
  template <int threads, bool vectors, class Index, class At>
  static __device__ __forceinline__ void fetch(float* to, const float* __restrict__ from, Index side_limit,
                                               Index depth_limit, At from_at) {
    constexpr int piece = vectors ? 4 : 1, each = inner / piece, total = outer * each;
#pragma unroll(vectors ? 8 : 4)
    for (int i = static_cast<int>(threadIdx.x); i < total; i += threads) {
      const int out = i / each, in = i % each * piece;
      const int of_side = depth_inside ? out : in, k = depth_inside ? in : out;
      const bool valid = of_side < side_limit && k < depth_limit;
      const float* source = valid ? from + from_at(of_side, k) : from;
      if constexpr (vectors)
        copy_16_bytes(to + out * pitch + in, source, valid);
      else
        copy_4_bytes(to + out * pitch + in, source, valid);
    }
  }
};

template <class Product, class Tiles>
struct TensorCoreProduct {
  using Index = typename Product::Index;
  static constexpr int threads = 32 * Tiles::warp_rows * Tiles::warp_columns;
  static constexpr int rows = 16 * Tiles::row_tiles * Tiles::warp_rows,
                       columns = 8 * Tiles::column_tiles * Tiles::warp_columns;
  using Left = OperandTile<rows, Tiles::depth_tile, Product::left_by_depth>;
  using Right = OperandTile<columns, Tiles::depth_tile, Product::right_by_depth>;
  static constexpr int stage = Left::elements + Right::elements;
  static constexpr size_t shared_bytes = sizeof(float) * Tiles::stages * stage;
  static constexpr int folded_steps = 256 / Tiles::depth_tile;  // summed separately

  __host__ __device__ static constexpr Index row_blocks(Product product) {
    return (product.rows + rows - 1) / rows;
  }
  __host__ __device__ static constexpr Index column_blocks(Product product) {
    return (product.columns + columns - 1) / columns;
  }
};

// For infinities and NaN, for which pairs of TF32 give NaN (inf - inf): the direct sum.
template <class Product>
__device__ __noinline__ float plain_sum(Product product, const float* __restrict__ left,
                                        const float* __restrict__ right, typename Product::Index batch,
                                        typename Product::Index row, typename Product::Index column) {
  float sum = 0.0f;
  for (typename Product::Index k = 0; k < product.depth; ++k)
    sum = fmaf(left[product.left(batch, row, k)], right[product.right(batch, k, column)], sum);
  return sum;
}

// Sums of a warp's tiles over one tile of depth.
template <class Product, class Tiles>
__device__ __forceinline__ void multiply_tiles(float (&sums)[Tiles::row_tiles][Tiles::column_tiles][4],
                                               const float* left, const float* right, int warp_row,
                                               int warp_column) {
  using Sizes = TensorCoreProduct<Product, Tiles>;
  const int lane = static_cast<int>(threadIdx.x) % 32, group = lane / 4, pair = lane % 4;
#pragma unroll 4
  for (int k = 0; k < Tiles::depth_tile; k += 8) {
    MmaRight right_high[Tiles::column_tiles], right_low[Tiles::column_tiles];
#pragma unroll
    for (int n = 0; n < Tiles::column_tiles; ++n)
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        const Tf32Pair number =
            split_tf32_by_bits(right[Sizes::Right::at(warp_column + n * 8 + group, k + pair + 4 * p)]);
        right_high[n].parts[p] = number.high;
        right_low[n].parts[p] = number.low;
      }
#pragma unroll
    for (int m = 0; m < Tiles::row_tiles; ++m) {
      MmaLeft left_high, left_low;
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const Tf32Pair number = split_tf32_by_bits(
            left[Sizes::Left::at(warp_row + m * 16 + p % 2 * 8 + group, k + pair + p / 2 * 4)]);
        left_high.parts[p] = number.high;
        left_low.parts[p] = number.low;
      }
#pragma unroll
      for (int n = 0; n < Tiles::column_tiles; ++n) mma_tf32(sums[m][n], left_low, right_high[n]);
#pragma unroll
      for (int n = 0; n < Tiles::column_tiles; ++n) mma_tf32(sums[m][n], left_high, right_low[n]);
#pragma unroll
      for (int n = 0; n < Tiles::column_tiles; ++n) mma_tf32(sums[m][n], left_high, right_high[n]);
    }
  }
}

template <class Product, class Tiles, bool vectors, class Epilogue>
__global__ void __launch_bounds__(TensorCoreProduct<Product, Tiles>::threads)
    tensor_core_product(const float* __restrict__ left, const float* __restrict__ right,
                        float* __restrict__ out, Epilogue epilogue, Product product) {
  wait_for_previous_kernel();
  using Sizes = TensorCoreProduct<Product, Tiles>;
  using Index = typename Product::Index;
  extern __shared__ uint4 product_shared[];
  float* tiles = reinterpret_cast<float*>(product_shared);  // stages of left and right
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, group = lane / 4, pair = lane % 4,
            warp = thread / 32;
  const int warp_row = warp / Tiles::warp_columns * Tiles::row_tiles * 16,
            warp_column = warp % Tiles::warp_columns * Tiles::column_tiles * 8;
  const int64_t block = blockIdx.x;
  const Index row_blocks = Sizes::row_blocks(product), column_blocks = Sizes::column_blocks(product),
              steps = (product.depth + Tiles::depth_tile - 1) / Tiles::depth_tile;
  const Index column0 = static_cast<Index>(block % column_blocks) * Sizes::columns,
              row0 = static_cast<Index>(block / column_blocks % row_blocks) * Sizes::rows,
              batch = static_cast<Index>(block / column_blocks / row_blocks);
  auto fetch = [&](Index step, int stage) {
    float* to = tiles + stage * Sizes::stage;
    const Index k0 = step * Tiles::depth_tile;
    Sizes::Left::template fetch<Sizes::threads, vectors && Tiles::left_quads>(
        to, left, product.rows - row0, product.depth - k0,
        [&](int row, int k) { return product.left(batch, row0 + row, k0 + k); });
    Sizes::Right::template fetch<Sizes::threads, vectors && Tiles::right_quads>(
        to + Sizes::Left::elements, right, product.columns - column0, product.depth - k0,
        [&](int column, int k) { return product.right(batch, k0 + k, column0 + column); });
  };
#pragma unroll
  for (int stage = 0; stage < Tiles::stages - 1; ++stage) {
    if (stage < steps) fetch(stage, stage);
    close_copies();
  }
  float sums[Tiles::row_tiles][Tiles::column_tiles][4] = {};
  float totals[Tiles::folds ? Tiles::row_tiles : 1][Tiles::folds ? Tiles::column_tiles : 1][4] = {};
  int stage = 0;
  for (Index step = 0; step < steps; ++step) {
    if constexpr (Tiles::stages == 1) {
      if (step > 0) __syncthreads();
      fetch(step, 0);
      close_copies();
      wait_for_copies<0>();
      __syncthreads();
    } else {
      wait_for_copies<Tiles::stages - 2>();
      __syncthreads();  // this tile has arrived, and the previous one is no longer read
      if (step + Tiles::stages - 1 < steps)
        fetch(step + Tiles::stages - 1, stage == 0 ? Tiles::stages - 1 : stage - 1);
      close_copies();
    }
    multiply_tiles<Product, Tiles>(sums, tiles + stage * Sizes::stage,
                                   tiles + stage * Sizes::stage + Sizes::Left::elements, warp_row,
                                   warp_column);
    stage = stage + 1 == Tiles::stages ? 0 : stage + 1;
    if constexpr (Tiles::folds) {
      if (step % Sizes::folded_steps == Sizes::folded_steps - 1) fold_sums(totals, sums);
    }
  }

  auto each_pair = [&](auto finish) {
#pragma unroll
    for (int m = 0; m < Tiles::row_tiles; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h)
#pragma unroll
        for (int n = 0; n < Tiles::column_tiles; ++n) {
          const Index row = row0 + warp_row + m * 16 + h * 8 + group,
                      column = column0 + warp_column + n * 8 + 2 * pair;
          if (row < product.rows && column < product.columns) finish(m, n, h, row, column);
        }
  };
  // The epilogue's loads are issued before any store: the compiler can't exclude aliasing and would wait for
  // every store.
  each_pair([&](int m, int n, int h, Index row, Index column) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& sum = sums[m][n][2 * h + e];
      if constexpr (Tiles::folds) sum += totals[m][n][2 * h + e];
      if (e == 0 || Tiles::out_pairs || column + 1 < product.columns) {
        if (!isfinite(sum)) sum = plain_sum(product, left, right, batch, row, column + e);
        sum = epilogue(sum, product.position(batch, row, column + e));
      }
    }
  });
  each_pair([&](int m, int n, int h, Index row, Index column) {
    const float first = sums[m][n][2 * h], second = sums[m][n][2 * h + 1];
    if constexpr (vectors && Tiles::out_pairs) {
      *reinterpret_cast<Pack<float, 2>*>(out + product.out(batch, row, column)) = {{first, second}};
    } else {
      out[product.out(batch, row, column)] = first;
      if (column + 1 < product.columns) out[product.out(batch, row, column + 1)] = second;
    }
  });
}

template <class Tiles, class Product, class Epilogue>
StitchStatus enqueue_tensor_core_product(const char* name, Product product, const float* left,
                                         const float* right, float* out, Epilogue epilogue,
                                         cudaStream_t stream) {
  using Sizes = TensorCoreProduct<Product, Tiles>;
  const Geometry geometry{
      blocks_of(int64_t{product.batches} * Sizes::row_blocks(product) * Sizes::column_blocks(product)),
      Sizes::threads, Sizes::shared_bytes};
  if constexpr (Tiles::left_quads || Tiles::right_quads || Tiles::out_pairs)
    if (is_aligned(left, 16) && is_aligned(right, 16) && is_aligned(out, 8))
      return launch(name, tensor_core_product<Product, Tiles, true, Epilogue>, geometry, stream, left, right,
                    out, epilogue, product);
  return launch(name, tensor_core_product<Product, Tiles, false, Epilogue>, geometry, stream, left, right,
                out, epilogue, product);
}

}  // namespace stitch
