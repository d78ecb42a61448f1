// Products of groups, as a mixture of experts has them: row i of x times the matrix of the first group g with
// i < offsets[g]; rows behind all groups are 0. A block makes 32 rows of 128 columns from tiles in shared
// memory, on the CUDA cores with FP32 sums, once for each group that has rows among them: only the GPU knows
// where groups end. A row takes the sums of its own group alone, whatever others hold.
//   struct ExpertsGroups {  // y (2048, 1024) = x (2048, 768) · weight (16, 768, 1024)
//     using Number = float;  // of x, weight and y
//     using Offset = int32_t;
//     static constexpr int64_t rows, columns, depth, groups;
//     static constexpr int64_t x_row, x_step, weight_group, weight_step, weight_column, out_row, out_column;
//     static constexpr bool weight_by_depth;  // neighbours along the depth lie side by side
//   };
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "stitch/runtime/launch.h"

namespace stitch {
namespace grouped_tile {
constexpr int rows = 32, columns = 128, depth = 16, threads = 256, each = 4;
}

template <class P>
__global__ void __launch_bounds__(grouped_tile::threads)
    grouped_matmul_kernel(const typename P::Number* __restrict__ x,
                          const typename P::Number* __restrict__ weight,
                          const typename P::Offset* __restrict__ offsets,
                          typename P::Number* __restrict__ out) {
  namespace tile = grouped_tile;
  __shared__ float left[tile::depth][tile::rows + 1];
  __shared__ float right[tile::depth][tile::columns + 4];
  constexpr int64_t column_tiles = (P::columns + tile::columns - 1) / tile::columns;
  const int64_t column0 = blockIdx.x % column_tiles * tile::columns,
                row0 = blockIdx.x / column_tiles * tile::rows;
  const int thread = static_cast<int>(threadIdx.x);
  const int own_row = thread / 32 * tile::each, own_column = thread % 32;  // and every 32nd after it
  float totals[tile::each][tile::each] = {};

  int64_t begin = 0;
  for (int64_t group = 0; group < P::groups; ++group) {
    const int64_t end = static_cast<int64_t>(offsets[group]), first = begin;
    begin = end > begin ? end : begin;
    if (end <= row0 || first >= end) continue;
    if (first >= row0 + tile::rows) break;
    float sums[tile::each][tile::each] = {};
    for (int64_t k0 = 0; k0 < P::depth; k0 += tile::depth) {
#pragma unroll
      for (int i = thread; i < tile::rows * tile::depth; i += tile::threads) {
        const int64_t k = k0 + i % tile::depth, row = row0 + i / tile::depth;
        left[i % tile::depth][i / tile::depth] =
            k < P::depth && row < P::rows ? static_cast<float>(x[row * P::x_row + k * P::x_step]) : 0.0f;
      }
#pragma unroll
      for (int i = thread; i < tile::columns * tile::depth; i += tile::threads) {
        const int step = P::weight_by_depth ? i % tile::depth : i / tile::columns,
                  side = P::weight_by_depth ? i / tile::depth : i % tile::columns;
        const int64_t k = k0 + step, column = column0 + side;
        right[step][side] =
            k < P::depth && column < P::columns
                ? static_cast<float>(
                      weight[group * P::weight_group + k * P::weight_step + column * P::weight_column])
                : 0.0f;
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < tile::depth; ++k)
#pragma unroll
        for (int r = 0; r < tile::each; ++r)
#pragma unroll
          for (int c = 0; c < tile::each; ++c)
            sums[r][c] += left[k][own_row + r] * right[k][own_column + c * 32];
      __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < tile::each; ++r) {
      const int64_t row = row0 + own_row + r;
      if (row < first || row >= end) continue;
#pragma unroll
      for (int c = 0; c < tile::each; ++c) totals[r][c] = sums[r][c];
    }
  }
#pragma unroll
  for (int r = 0; r < tile::each; ++r)
#pragma unroll
    for (int c = 0; c < tile::each; ++c) {
      const int64_t row = row0 + own_row + r, column = column0 + own_column + c * 32;
      if (row < P::rows && column < P::columns)
        out[row * P::out_row + column * P::out_column] = static_cast<typename P::Number>(totals[r][c]);
    }
}

template <class P>
StitchStatus enqueue_grouped_matmul(const char* name, const typename P::Number* x,
                                    const typename P::Number* weight, const typename P::Offset* offsets,
                                    typename P::Number* out, cudaStream_t stream) {
  const int64_t blocks =
      divide_up(P::rows, grouped_tile::rows) * divide_up(P::columns, grouped_tile::columns);
  return launch(name, grouped_matmul_kernel<P>, {static_cast<unsigned>(blocks), grouped_tile::threads},
                stream, x, weight, offsets, out);
}

}  // namespace stitch
