// Tiles of fp16 or bf16 rows in shared memory, and of masks, for attention_half.h.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "stitch/kernels/attention_heads.h"
#include "stitch/kernels/shared_memory.h"
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
        const bool valid = all || row < count;
        copy_16_bytes(target + r * Copies::row_step * pitch,
                      valid ? source + r * Copies::row_step * step : from, valid);
      }
      return;
    }
  }
  if constexpr (vectors) {
#pragma unroll
    for (int r = 0; r < Copies::rounds; ++r) {
      const int i = thread + r * threads, row = i / each, column = i % each * 8;
      if ((r + 1) * threads > Copies::total && row >= tile_rows) break;
      const bool valid = row < count && (width == wide || column < width);
      copy_16_bytes(to + row * pitch + column, valid ? from + at(row, column) : from, valid);
    }
  } else {
    for (int i = thread; i < tile_rows * wide; i += threads) {
      const int row = i / wide, column = i % wide;
      const bool valid = row < count && column < width;
      const Number number = valid ? from[at(row, column)] : static_cast<Number>(0.0f);
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
    const bool valid = row < count && column < width;
    const Number* source = from;
    if (valid)
      source = row < joint ? from + at(row, column) : tail + tail_at(row - static_cast<int>(joint), column);
    __half* target = to + row * Copies::pitch + column;
    if constexpr (vectors) {
      copy_16_bytes(target, source, valid);
    } else {
      const Number number = valid ? *source : static_cast<Number>(0.0f);
      *target = *reinterpret_cast<const __half*>(&number);
    }
  }
}

// The keys visible to a block of attention_half.h under a bool mask: a bit per key in shared memory, and a
// flag per tile of keys that any query sees. The mask is read a window of tiles at a time, all loads at once:
// read per tile, its latency would delay every tile. Besides attention_heads.h:
//     static constexpr int key_tile;        // at most 64
//     static constexpr bool mask_queries;   // the mask differs between queries
//     static constexpr int mask_run;        // contiguous, aligned elements: 16, 4 or 1 (added masks: 2 or 1)

// Bits of 16 keys from `key` on; 0 past the end.
template <class Heads, bool vectors>
__device__ __forceinline__ uint32_t kept_run(Heads heads, const typename Heads::Mask* __restrict__ mask,
                                             typename Heads::Index head, typename Heads::Index query,
                                             typename Heads::Index key) {
  uint32_t bits = 0;
  // The multiplication gathers the low bits of a word's four bytes.
  auto four_bits = [](uint32_t word) { return (word * 0x01020408u) >> 24 & 15u; };
  if constexpr (vectors && Heads::mask_run == 16) {
    const auto* words = reinterpret_cast<const uint32_t*>(mask + heads.mask(head, query, key));
    const Pack<uint32_t, 4> four = load<4>(words, 0);
#pragma unroll
    for (int w = 0; w < 4; ++w) bits |= four_bits(four[w]) << (w * 4);
  } else if constexpr (vectors && Heads::mask_run == 4) {
#pragma unroll
    for (int w = 0; w < 4; ++w)
      if (key + w * 4 < heads.keys)
        bits |= four_bits(*reinterpret_cast<const uint32_t*>(mask + heads.mask(head, query, key + w * 4)))
                << (w * 4);
  } else {
#pragma unroll
    for (int i = 0; i < 16; ++i)
      if (key + i < heads.keys && mask[heads.mask(head, query, key + i)]) bits |= 1u << i;
  }
  return bits;
}

// A lane's bits of a tile: rows lane / 4 and lane / 4 + 8 of each 16.
template <class Heads>
struct KeptTile {
  uint64_t bits[Heads::row_tiles * 2];
};

template <class Heads, class Block, int rows, int threads, bool vectors>
class KeptKeys {
  using Tile = KeptTile<Heads>;
  using Index = typename Heads::Index;
  static constexpr int mask_rows = Heads::mask_queries || Heads::group > 1 ? rows : 1;
  const Block& block_;
  const int tiles_, window_, pitch_;
  const typename Heads::Mask* __restrict__ mask_;
  uint64_t* bits_;   // (rows or 1, window)
  uint32_t* flags_;  // (window)
  Index window0_ = 0;

  // Needs a barrier before and after.
  __device__ __forceinline__ void read_window(Index key0) {
    constexpr int runs = Heads::key_tile / 16;
    const int in_row = window_ * runs, all = mask_rows * in_row;
    const int thread = static_cast<int>(threadIdx.x);
    __syncthreads();
    for (int i = thread; i < window_; i += threads) flags_[i] = 0;
    __syncthreads();
    auto* pieces = reinterpret_cast<uint16_t*>(bits_);
#pragma unroll 4
    for (int i = thread; i < all; i += threads) {
      const int row = i / in_row, tile = i % in_row / runs, piece = i % runs;
      const Index key = key0 + tile * Heads::key_tile + piece * 16;
      const bool valid = block_.row0 + row < block_.all_rows && key < block_.last_key;
      const uint32_t bits = valid ? kept_run<Heads, vectors>(block_.heads, mask_, block_.head_of(row),
                                                             block_.query_of(row), key)
                                  : 0;
      pieces[(row * pitch_ + tile) * 4 + piece] = static_cast<uint16_t>(bits);
      if (bits != 0) flags_[tile] = 1;  // all writers write the same value
    }
    __syncthreads();
    window0_ = key0;
  }

 public:
  __device__ __forceinline__ KeptKeys(const Block& block, const typename Heads::Mask* __restrict__ mask,
                                      void* shared)
      : block_(block),
        tiles_(static_cast<int>(block.kept().tiles)),
        window_(static_cast<int>(block.kept().window())),
        pitch_(static_cast<int>(block.kept().pitch())),
        mask_(mask),
        bits_(static_cast<uint64_t*>(shared)),
        flags_(reinterpret_cast<uint32_t*>(bits_ + mask_rows * pitch_)) {
    read_window(block.first_key);
  }
  // The first tile from key0 on that some query of the block sees.
  __device__ __forceinline__ Index next(Index key0) {
    for (; key0 < block_.last_key; key0 += Heads::key_tile) {
      if (window_ < tiles_ && key0 - window0_ >= window_ * Heads::key_tile) read_window(key0);
      if (flags_[(key0 - window0_) / Heads::key_tile] != 0) break;
    }
    return key0;
  }
  // The bits of this lane's rows in a tile; call before next(), which may read another window.
  __device__ __forceinline__ Tile at(Index key0) const {
    Tile tile;
    const int lane = static_cast<int>(threadIdx.x) % 32,
              row0 = static_cast<int>(threadIdx.x) / 32 * Heads::row_tiles * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < Heads::row_tiles * 2; ++i)
      tile.bits[i] =
          bits_[(mask_rows == 1 ? 0 : (row0 + i * 8) * pitch_) + (key0 - window0_) / Heads::key_tile];
    return tile;
  }
};

// Without a mask every tile counts.
template <class Heads>
struct AllKeys {
  __device__ __forceinline__ typename Heads::Index next(typename Heads::Index key0) const { return key0; }
  __device__ __forceinline__ KeptTile<Heads> at(typename Heads::Index) const { return {}; }
};

}  // namespace stitch
