// Copies rows of fp16 or bf16 into shared memory, for attention_half.h.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "stitch/runtime/async_copy.h"

namespace stitch {
// Copies a tile of rows of `width` elements, zero-padded to a multiple of 16, 16 bytes per thread.
template <int threads, int tile_rows, int width>
struct RowCopies {
  static constexpr int wide = (width + 15) / 16 * 16, pitch = wide + 8, each = wide / 8,
                       total = tile_rows * each, rounds = (total + threads - 1) / threads;
  static constexpr bool straight = threads % each == 0;  // each thread stays in one column
  static constexpr int row_step = straight ? threads / each : 0;
};

// Rows [0, count) into shared memory, zeros after them. `at`: offset of a row's element i; `step`: stride
// between rows, 0 if not uniform. Complete after wait_for_copies and a barrier.
template <int threads, int tile_rows, int width, bool vectors, class Number, class At>
__device__ __forceinline__ void fetch_rows(__half* to, const Number* __restrict__ from, int64_t step,
                                           int64_t count, At at) {
  using Copies = RowCopies<threads, tile_rows, width>;
  constexpr int pitch = Copies::pitch, wide = Copies::wide, each = Copies::each;
  const int thread = static_cast<int>(threadIdx.x);
  if constexpr (vectors && Copies::straight && width == wide) {
    if (step != 0) {
      // One address per side; the others are at constant offsets.
      const int first = thread / each, column = thread % each * 8;
      const Number* source = from + at(first, column);
      __half* target = to + first * pitch + column;
      const bool all = count >= tile_rows;
#pragma unroll
      for (int r = 0; r < Copies::rounds; ++r) {
        const int row = first + r * Copies::row_step;
        if ((r + 1) * threads > Copies::total && row >= tile_rows) break;
        const bool there = all || row < count;
        copy_16_bytes(target + r * Copies::row_step * pitch,
                      there ? source + r * Copies::row_step * step : from, there);
      }
      return;
    }
  }
  if constexpr (vectors) {
#pragma unroll
    for (int r = 0; r < Copies::rounds; ++r) {
      const int i = thread + r * threads, row = i / each, column = i % each * 8;
      if ((r + 1) * threads > Copies::total && row >= tile_rows) break;
      const bool there = row < count && (width == wide || column < width);
      copy_16_bytes(to + row * pitch + column, there ? from + at(row, column) : from, there);
    }
  } else {
    for (int i = thread; i < tile_rows * wide; i += threads) {
      const int row = i / wide, column = i % wide;
      const bool there = row < count && column < width;
      const Number number = there ? from[at(row, column)] : static_cast<Number>(0.0f);
      to[row * pitch + column] = *reinterpret_cast<const __half*>(&number);
    }
  }
}

// The same where rows from `joint` on are in another tensor, indexed by `tail_at` from there.
template <int threads, int tile_rows, int width, bool vectors, class Number, class At, class TailAt>
__device__ __forceinline__ void fetch_joined_rows(__half* to, const Number* __restrict__ from, At at,
                                                  const Number* __restrict__ tail, TailAt tail_at,
                                                  int64_t joint, int64_t count) {
  using Copies = RowCopies<threads, tile_rows, width>;
  constexpr int piece = vectors ? 8 : 1, each = Copies::wide / piece;
  for (int i = static_cast<int>(threadIdx.x); i < tile_rows * each; i += threads) {
    const int row = i / each, column = i % each * piece;
    const bool there = row < count && column < width;
    const Number* source = from;
    if (there)
      source = row < joint ? from + at(row, column) : tail + tail_at(row - static_cast<int>(joint), column);
    __half* target = to + row * Copies::pitch + column;
    if constexpr (vectors) {
      copy_16_bytes(target, source, there);
    } else {
      const Number number = there ? *source : static_cast<Number>(0.0f);
      *target = *reinterpret_cast<const __half*>(&number);
    }
  }
}

}  // namespace stitch
