// Products on the CUDA cores for any strides: Out[batch, row, column] = epilogue(Σ_k Left[batch, row, k] ·
// Right[batch, k, column]). What is multiplied stands in a struct, so that every index is made of constants:
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

#include "stitch/kernels/loops_math.h"
#include "stitch/runtime/launch.h"

namespace stitch {
struct NoEpilogue {
  template <class Number, class... Where>
  __device__ __forceinline__ Number operator()(Number value, Where...) const {
    return value;
  }
};

// Integers wrap, which signed sums must not.
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

// What counts `count` elements: 32 bits where they reach, because 64-bit divisions cost several times as
// much.
template <int64_t count>
using flat_index_t = std::conditional_t<(count < (int64_t{1} << 31)), uint32_t, int64_t>;

// Where P is padded, an index of -1 stands for a zero: a convolution's border.
template <class P, class Value>
__device__ __forceinline__ Value load_right(const typename P::Right* __restrict__ right,
                                            typename P::Index index) {
  if constexpr (P::padded)
    return index < 0 ? Value{} : static_cast<Value>(right[index]);
  else
    return static_cast<Value>(right[index]);
}

// A tile of 64 x 64 a block, 4 x 4 of it a thread. Chosen where both sides fill a good part of a tile.
namespace matmul_tile {
constexpr int rows = 64, columns = 64, depth = 16, threads = 256, each = 4;
// Sums of this many tiles are added up by themselves first: long rows lose less to rounding.
constexpr int fold = 16;
}  // namespace matmul_tile

template <class P, class Epilogue>
__global__ void __launch_bounds__(matmul_tile::threads)
    matmul_tiled(const typename P::Left* __restrict__ left, const typename P::Right* __restrict__ right,
                 typename P::Out* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  namespace tile = matmul_tile;
  using Index = typename P::Index;
  using Sum = typename P::Sum;
  using Value = accumulator_t<Sum>;
  __shared__ Value left_tile[tile::depth][tile::rows + 1];
  __shared__ Value right_tile[tile::depth][tile::columns + 1];
  constexpr int64_t column_tiles = (int64_t{P::columns} + tile::columns - 1) / tile::columns;
  constexpr int64_t row_tiles = (int64_t{P::rows} + tile::rows - 1) / tile::rows;
  const int64_t block = blockIdx.x;
  const Index column0 = static_cast<Index>(block % column_tiles) * tile::columns;
  const Index row0 = static_cast<Index>(block / column_tiles % row_tiles) * tile::rows;
  const Index batch = static_cast<Index>(block / column_tiles / row_tiles);
  const int thread = static_cast<int>(threadIdx.x);
  const int thread_row = thread / 16, thread_column = thread % 16;  // and every 16th one after them

  Value totals[tile::each][tile::each] = {}, sums[tile::each][tile::each] = {};
  int folded = 0;
  for (Index k0 = 0; k0 < P::depth; k0 += tile::depth) {
#pragma unroll
    for (int i = 0; i < tile::rows * tile::depth / tile::threads; ++i) {
      int at = i * tile::threads + thread;
      int k = P::left_by_depth ? at % tile::depth : at / tile::rows;
      int row = P::left_by_depth ? at / tile::depth : at % tile::rows;
      bool inside = row0 + row < P::rows && k0 + k < P::depth;
      left_tile[k][row] = inside ? static_cast<Value>(left[P::left(batch, row0 + row, k0 + k)]) : Value{};
    }
#pragma unroll
    for (int i = 0; i < tile::columns * tile::depth / tile::threads; ++i) {
      int at = i * tile::threads + thread;
      int k = P::right_by_depth ? at % tile::depth : at / tile::columns;
      int column = P::right_by_depth ? at / tile::depth : at % tile::columns;
      bool inside = column0 + column < P::columns && k0 + k < P::depth;
      right_tile[k][column] =
          inside ? load_right<P, Value>(right, P::right(batch, k0 + k, column0 + column)) : Value{};
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
      if (row >= P::rows || column >= P::columns) continue;
      Sum value = epilogue(static_cast<Sum>(totals[i][j] + sums[i][j]), P::position(batch, row, column));
      out[P::out(batch, row, column)] = static_cast<typename P::Out>(value);
    }
}

// `lanes` threads an element of the result: 1 where the sums are short, a warp where they are long. Chosen
// for vectors, thin matrices and sums over one operand.
template <class P, int lanes, class Epilogue>
__global__ void __launch_bounds__(256)
    matmul_direct(const typename P::Left* __restrict__ left, const typename P::Right* __restrict__ right,
                  typename P::Out* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Index = typename P::Index;
  using Sum = typename P::Sum;
  using Value = accumulator_t<Sum>;
  constexpr int64_t count = int64_t{P::batches} * P::rows * P::columns;
  using Flat = flat_index_t<count>;
  const int64_t wide = (static_cast<int64_t>(blockIdx.x) * 256 + threadIdx.x) / lanes;
  if (wide >= count) return;  // whole groups of lanes leave together
  const Flat element = static_cast<Flat>(wide);
  const Index column = static_cast<Index>(element % Flat{P::columns});
  const Index row = static_cast<Index>(element / Flat{P::columns} % Flat{P::rows});
  const Index batch = static_cast<Index>(element / Flat{P::columns} / Flat{P::rows});
  const Index lane = static_cast<Index>(threadIdx.x) % lanes;
  constexpr Index fold = 256 * lanes;
  Value total{};
  for (Index k0 = lane; k0 < P::depth; k0 += fold) {
    Value sum{};
    const Index end = P::depth - k0 < fold ? P::depth : k0 + fold;
    for (Index k = k0; k < end; k += lanes) {
      Value a = static_cast<Value>(left[P::left(batch, row, k)]);
      if constexpr (P::has_right)
        sum += a * load_right<P, Value>(right, P::right(batch, k, column));
      else
        sum += a;
    }
    total += sum;
    if (P::depth - k0 <= fold) break;  // the next k0 may not fit its type
  }
  if constexpr (lanes == 32) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) total += __shfl_xor_sync(0xffffffffu, total, mask);
    if (lane != 0) return;
  }
  Sum value = epilogue(static_cast<Sum>(total), P::position(batch, row, column));
  out[P::out(batch, row, column)] = static_cast<typename P::Out>(value);
}

template <class P, class Epilogue>
StitchStatus enqueue_product(const char* name, const typename P::Left* left, const typename P::Right* right,
                             typename P::Out* out, Epilogue epilogue, cudaStream_t stream) {
  constexpr int64_t count = int64_t{P::batches} * P::rows * P::columns;
  if constexpr (count == 0) {
    return STITCH_OK;
  } else if constexpr (P::has_right && P::rows >= 16 && P::columns >= 16) {
    constexpr int64_t tiles = (int64_t{P::columns} + matmul_tile::columns - 1) / matmul_tile::columns *
                              ((int64_t{P::rows} + matmul_tile::rows - 1) / matmul_tile::rows) * P::batches;
    static_assert(tiles < (int64_t{1} << 31), "more tiles than a grid has blocks");
    return launch(name, matmul_tiled<P, Epilogue>, {static_cast<unsigned>(tiles), matmul_tile::threads},
                  stream, left, right, out, epilogue);
  } else {
    constexpr int lanes = P::depth >= 128 && (!P::padded || count < 32768) ? 32 : 1;
    constexpr int64_t blocks = (count * lanes + 255) / 256;
    static_assert(blocks < (int64_t{1} << 31), "more elements than a grid has threads");
    return launch(name, matmul_direct<P, lanes, Epilogue>, {static_cast<unsigned>(blocks), 256}, stream, left,
                  right, out, epilogue);
  }
}

}  // namespace stitch
