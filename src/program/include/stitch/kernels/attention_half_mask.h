// Which keys a block of attention_half.h keeps, by a bool mask: a bit each in shared memory, and a flag for
// every tile of keys that some query keeps something of. The mask is read a window of tiles at a time, all
// loads of a window at once: asked for tile by tile, its latency would stand before every tile. Besides what
// attention_heads.h asks for:
//     static constexpr int key_tile;        // at most 64
//     static constexpr bool mask_queries;   // the mask differs from query to query
//     static constexpr int mask_run;        // 16, 4 or 1 of the mask lie side by side, at as many bytes; of
//     one
//                                           // that is added: 2 or 1
#pragma once

#include "stitch/kernels/attention_heads.h"
#include "stitch/kernels/shared_memory.h"

namespace stitch {
// Bits of 16 keys from `key` on; those past the last are none.
template <class H, bool vectors>
__device__ __forceinline__ uint32_t kept_run(const typename H::Mask* __restrict__ mask,
                                             typename H::Index head, typename H::Index query,
                                             typename H::Index key) {
  uint32_t bits = 0;
  // The factor brings a bit of each of a word's four bytes, 0 or 1, side by side.
  auto four_bits = [](uint32_t word) { return (word * 0x01020408u) >> 24 & 15u; };
  if constexpr (vectors && H::mask_run == 16) {
    const auto* words = reinterpret_cast<const uint32_t*>(mask + H::mask(head, query, key));
    const Pack<uint32_t, 4> four = load<4>(words, 0);
#pragma unroll
    for (int w = 0; w < 4; ++w) bits |= four_bits(four[w]) << (w * 4);
  } else if constexpr (vectors && H::mask_run == 4) {
#pragma unroll
    for (int w = 0; w < 4; ++w)
      if (key + w * 4 < H::keys)
        bits |= four_bits(*reinterpret_cast<const uint32_t*>(mask + H::mask(head, query, key + w * 4)))
                << (w * 4);
  } else {
#pragma unroll
    for (int i = 0; i < 16; ++i)
      if (key + i < H::keys && mask[H::mask(head, query, key + i)]) bits |= 1u << i;
  }
  return bits;
}

// What the rows of a lane keep of a tile: rows lane / 4 and 8 below of each 16.
template <class H>
struct KeptTile {
  uint64_t bits[H::row_tiles * 2];
};

template <class H, class Block, int rows, int threads, bool vectors>
class KeptKeys {
  using Tile = KeptTile<H>;
  using Index = typename H::Index;
  using Sizes = shared_memory::KeptTiles;
  static constexpr Sizes sizes{H::mask_queries || H::group > 1 ? rows : 1,
                               Block::keys_per_split / H::key_tile};
  static constexpr int window = static_cast<int>(sizes.window()), pitch = static_cast<int>(sizes.pitch());
  const Block& block_;
  const typename H::Mask* __restrict__ mask_;
  uint64_t* bits_;   // (rows or 1, window)
  uint32_t* flags_;  // (window)
  Index window0_ = 0;

  // A barrier before and after.
  __device__ __forceinline__ void read_window(Index key0) {
    constexpr int runs = H::key_tile / 16, in_row = window * runs,
                  all = static_cast<int>(sizes.rows) * in_row;
    const int thread = static_cast<int>(threadIdx.x);
    __syncthreads();
    for (int i = thread; i < window; i += threads) flags_[i] = 0;
    __syncthreads();
    auto* pieces = reinterpret_cast<uint16_t*>(bits_);
#pragma unroll 4
    for (int i = thread; i < all; i += threads) {
      const int row = i / in_row, tile = i % in_row / runs, piece = i % runs;
      const Index key = key0 + tile * H::key_tile + piece * 16;
      const bool there = block_.row0 + row < Block::all_rows && key < block_.last_key;
      const uint32_t bits =
          there ? kept_run<H, vectors>(mask_, block_.head_of(row), block_.query_of(row), key) : 0;
      pieces[(row * pitch + tile) * 4 + piece] = static_cast<uint16_t>(bits);
      if (bits != 0) flags_[tile] = 1;  // all who write write the same
    }
    __syncthreads();
    window0_ = key0;
  }

 public:
  __device__ __forceinline__ KeptKeys(const Block& block, const typename H::Mask* __restrict__ mask,
                                      void* shared)
      : block_(block),
        mask_(mask),
        bits_(static_cast<uint64_t*>(shared)),
        flags_(reinterpret_cast<uint32_t*>(bits_ + sizes.rows * pitch)) {
    read_window(block.first_key);
  }
  // The first tile from key0 on of which some query of the block keeps something.
  __device__ __forceinline__ Index next(Index key0) {
    for (; key0 < block_.last_key; key0 += H::key_tile) {
      if constexpr (window < sizes.tiles)
        if (key0 - window0_ >= window * H::key_tile) read_window(key0);
      if (flags_[(key0 - window0_) / H::key_tile] != 0) break;
    }
    return key0;
  }
  // The bits of this lane's rows in a tile: asked for before the next tile, which may open another window.
  __device__ __forceinline__ Tile at(Index key0) const {
    Tile tile;
    const int lane = static_cast<int>(threadIdx.x) % 32,
              row0 = static_cast<int>(threadIdx.x) / 32 * H::row_tiles * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < H::row_tiles * 2; ++i)
      tile.bits[i] = bits_[(sizes.rows == 1 ? 0 : (row0 + i * 8) * pitch) + (key0 - window0_) / H::key_tile];
    return tile;
  }
};

// Without a mask every tile counts.
template <class H>
struct AllKeys {
  __device__ __forceinline__ typename H::Index next(typename H::Index key0) const { return key0; }
  __device__ __forceinline__ KeptTile<H> at(typename H::Index) const { return {}; }
};

}  // namespace stitch
