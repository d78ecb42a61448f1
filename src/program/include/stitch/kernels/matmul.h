// Products on the CUDA cores for any strides: Out[batch, row, column] = epilogue(Σ_k Left[batch, row, k] ·
// Right[batch, k, column]). Described by a struct that is passed by value: in programs for one size all of it
// is constant expressions; in one for a range, what depends on sizes are ordinary members and functions.
//   struct Fc1Product {  // linear (64, 100) = x (64, 256) · weight (100, 256)
//     using Left = float; using Right = float; using Out = float; using Sum = float; using Index = int;
//     static constexpr Index batches = 1, rows = 64, columns = 100, depth = 256;
//     static constexpr bool left_by_depth = true, right_by_depth = true, has_right = true, padded = false;
//     __device__ static Index left(Index batch, Index row, Index k);
//     __device__ static Index right(Index batch, Index k, Index column);
//     __device__ static Index out(Index batch, Index row, Index column);
//     __device__ static Index position(Index batch, Index row, Index column);  // in the row-major result
//   };
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "stitch/loops/math.h"
#include "stitch/runtime/launch.h"

namespace stitch {
struct NoEpilogue {
  template <class Number, class... Where>
  __device__ __forceinline__ Number operator()(Number value, Where...) const {
    return value;
  }
};

// Integers wrap; signed overflow would be undefined.
template <class Sum>
struct Accumulator {
  using type = Sum;
};
template <>
struct Accumulator<int64_t> {
  using type = uint64_t;
};
template <class Sum>
using accumulator_t = typename Accumulator<Sum>::type;

// The index type for `count` elements: 32 bits if possible, since 64-bit divisions are several times slower.
template <int64_t count>
using flat_index_t = std::conditional_t<(count < (int64_t{1} << 31)), uint32_t, int64_t>;
// The same for the elements of a product's tensors, of which none has more than `Index` counts.
template <class Product>
using flat_t = std::conditional_t<sizeof(typename Product::Index) == 4, uint32_t, int64_t>;

// If Product is padded, index -1 is a zero: a convolution's border.
template <class Product, class Value>
__device__ __forceinline__ Value load_right(const typename Product::Right* __restrict__ right,
                                            typename Product::Index index) {
  if constexpr (Product::padded)
    return index < 0 ? Value{} : static_cast<Value>(right[index]);
  else
    return static_cast<Value>(right[index]);
}

// A block computes a tile of 64 x 64, a thread 4 x 4 of it. Chosen where both sides fill most of a tile.
namespace matmul_tile {
constexpr int rows = 64, columns = 64, depth = 16, threads = 256, each = 4;
// This many tiles are summed separately first, to reduce rounding errors of long sums.
constexpr int fold = 16;
}  // namespace matmul_tile

template <class Product, class Epilogue>
__global__ void __launch_bounds__(matmul_tile::threads)
    matmul_tiled(const typename Product::Left* __restrict__ left,
                 const typename Product::Right* __restrict__ right, typename Product::Out* __restrict__ out,
                 Epilogue epilogue, Product product) {
  wait_for_previous_kernel();
  namespace tile = matmul_tile;
  using Index = typename Product::Index;
  using Sum = typename Product::Sum;
  using Value = accumulator_t<Sum>;
  __shared__ Value left_tile[tile::depth][tile::rows + 1];
  __shared__ Value right_tile[tile::depth][tile::columns + 1];
  const int64_t column_tiles = (int64_t{product.columns} + tile::columns - 1) / tile::columns;
  const int64_t row_tiles = (int64_t{product.rows} + tile::rows - 1) / tile::rows;
  const int64_t block = blockIdx.x;
  const Index column0 = static_cast<Index>(block % column_tiles) * tile::columns;
  const Index row0 = static_cast<Index>(block / column_tiles % row_tiles) * tile::rows;
  const Index batch = static_cast<Index>(block / column_tiles / row_tiles);
  const int thread = static_cast<int>(threadIdx.x);
  const int thread_row = thread / 16, thread_column = thread % 16;  // and every 16th after them

  Value totals[tile::each][tile::each] = {}, sums[tile::each][tile::each] = {};
  int folded = 0;
  for (Index k0 = 0; k0 < product.depth; k0 += tile::depth) {
#pragma unroll
    for (int i = 0; i < tile::rows * tile::depth / tile::threads; ++i) {
      int at = i * tile::threads + thread;
      int k = Product::left_by_depth ? at % tile::depth : at / tile::rows;
      int row = Product::left_by_depth ? at / tile::depth : at % tile::rows;
      bool inside = row0 + row < product.rows && k0 + k < product.depth;
      left_tile[k][row] =
          inside ? static_cast<Value>(left[product.left(batch, row0 + row, k0 + k)]) : Value{};
    }
#pragma unroll
    for (int i = 0; i < tile::columns * tile::depth / tile::threads; ++i) {
      int at = i * tile::threads + thread;
      int k = Product::right_by_depth ? at % tile::depth : at / tile::columns;
      int column = Product::right_by_depth ? at / tile::depth : at % tile::columns;
      bool inside = column0 + column < product.columns && k0 + k < product.depth;
      right_tile[k][column] =
          inside ? load_right<Product, Value>(right, product.right(batch, k0 + k, column0 + column))
                 : Value{};
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile::depth; ++k) {
      Value a[tile::each], b[tile::each];
#pragma unroll
      for (int i = 0; i < tile::each; ++i) {
        a[i] = left_tile[k][thread_row + i * 16];
        b[i] = right_tile[k][thread_column + i * 16];
      }
#pragma unroll
      for (int i = 0; i < tile::each; ++i)
#pragma unroll
        for (int j = 0; j < tile::each; ++j) sums[i][j] += a[i] * b[j];
    }
    __syncthreads();
    if (++folded == tile::fold) {
      folded = 0;
#pragma unroll
      for (int i = 0; i < tile::each; ++i)
#pragma unroll
        for (int j = 0; j < tile::each; ++j) {
          totals[i][j] += sums[i][j];
          sums[i][j] = Value{};
        }
    }
  }
#pragma unroll
  for (int i = 0; i < tile::each; ++i)
#pragma unroll
    for (int j = 0; j < tile::each; ++j) {
      Index row = row0 + thread_row + i * 16, column = column0 + thread_column + j * 16;
      if (row >= product.rows || column >= product.columns) continue;
      Sum value = epilogue(static_cast<Sum>(totals[i][j] + sums[i][j]), product.position(batch, row, column));
      out[product.out(batch, row, column)] = static_cast<typename Product::Out>(value);
    }
}

// `lanes` threads per element of the result: 1 for short sums, a warp for long ones. Chosen for vectors, thin
// matrices and sums over one operand.
template <class Product, int lanes, class Epilogue>
__global__ void __launch_bounds__(256)
    matmul_direct(const typename Product::Left* __restrict__ left,
                  const typename Product::Right* __restrict__ right, typename Product::Out* __restrict__ out,
                  Epilogue epilogue, Product product) {
  wait_for_previous_kernel();
  using Index = typename Product::Index;
  using Sum = typename Product::Sum;
  using Value = accumulator_t<Sum>;
  using Flat = flat_t<Product>;
  const int64_t count = int64_t{product.batches} * product.rows * product.columns;
  const int64_t wide = (static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x) / lanes;
  if (wide >= count) return;  // whole groups of lanes return together
  const Flat element = static_cast<Flat>(wide), columns = static_cast<Flat>(product.columns),
             rows = static_cast<Flat>(product.rows);
  const Index column = static_cast<Index>(element % columns);
  const Index row = static_cast<Index>(element / columns % rows);
  const Index batch = static_cast<Index>(element / columns / rows);
  const Index lane = static_cast<Index>(threadIdx.x) % lanes;
  constexpr Index fold = 256 * lanes;
  Value total{};
  for (Index k0 = lane; k0 < product.depth; k0 += fold) {
    Value sum{};
    const Index end = product.depth - k0 < fold ? product.depth : k0 + fold;
    for (Index k = k0; k < end; k += lanes) {
      Value a = static_cast<Value>(left[product.left(batch, row, k)]);
      if constexpr (Product::has_right)
        sum += a * load_right<Product, Value>(right, product.right(batch, k, column));
      else
        sum += a;
    }
    total += sum;
    if (product.depth - k0 <= fold) break;  // the next k0 may overflow
  }
  if constexpr (lanes == 32) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) total += __shfl_xor_sync(0xffffffffu, total, mask);
    if (lane != 0) return;
  }
  Sum value = epilogue(static_cast<Sum>(total), product.position(batch, row, column));
  out[product.out(batch, row, column)] = static_cast<typename Product::Out>(value);
}

// `lanes`: threads per element of the result, 1 or 32; 0: tiles.
template <int lanes, class Product, class Epilogue>
StitchStatus enqueue_product(const char* name, Product product, const typename Product::Left* left,
                             const typename Product::Right* right, typename Product::Out* out,
                             Epilogue epilogue, cudaStream_t stream) {
  const int64_t count = int64_t{product.batches} * product.rows * product.columns;
  if (count == 0) return STITCH_OK;
  if constexpr (lanes == 0) {
    const int64_t tiles = divide_up(product.columns, matmul_tile::columns) *
                          divide_up(product.rows, matmul_tile::rows) * product.batches;
    return launch(name, matmul_tiled<Product, Epilogue>, {blocks_of(tiles), matmul_tile::threads}, stream,
                  left, right, out, epilogue, product);
  } else {
    return launch(name, matmul_direct<Product, lanes, Epilogue>,
                  {blocks_of(divide_up(count * lanes, 256)), 256}, stream, left, right, out, epilogue,
                  product);
  }
}

}  // namespace stitch
