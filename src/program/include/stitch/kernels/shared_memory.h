// Shared memory of the kernels that need most, in bytes. Plain C++: the planner uses the same numbers as the
// kernels. GPUs have 227 KiB per block (sm_90, sm_100, sm_103), 163 (sm_80) or 99 (sm_86, sm_89, sm_120). All
// other kernels need less than 64.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define STITCH_ANYWHERE __host__ __device__
#else
#define STITCH_ANYWHERE
#endif

namespace stitch {
namespace shared_memory {
// Static shared memory of a kernel besides, at most: flags, sums of its warps.
constexpr int64_t declared = 3 * 1024;

constexpr int64_t divided_up(int64_t count, int64_t by) { return (count + by - 1) / by; }
constexpr int64_t rounded_up(int64_t count, int64_t by) { return divided_up(count, by) * by; }

// attention_tensor_core.h: tiles of q, k and v, each number as `parts` of fp16; rows: 16 · warps · row_tiles.
// Pitches are odd multiples of 16 bytes.
constexpr int64_t tensor_core_attention(int64_t width, int64_t value_width, int64_t rows, int64_t key_tile,
                                        int64_t parts) {
  const int64_t pitch = rounded_up(width, 16) + 8, value_pitch = rounded_up(value_width, 16) + 8;
  return 2 * parts * ((rows + key_tile) * pitch + key_tile * value_pitch);
}

// attention_half_tiles.h: bits of as many rows as the mask distinguishes, a word per tile of keys, and a flag
// per tile. Tiles beyond the window are read later. An odd pitch has fewer bank conflicts.
struct KeptTiles {
  int64_t rows, tiles;
  STITCH_ANYWHERE constexpr int64_t window() const {
    const int64_t most = rows > 8 ? 2048 / rows : 256;
    return tiles < most ? tiles : most;
  }
  STITCH_ANYWHERE constexpr int64_t pitch() const { return window() | 1; }
  constexpr int64_t bytes() const { return rows == 0 ? 0 : 8 * rows * pitch() + 4 * rounded_up(window(), 4); }
};

// attention_half.h: stages of tiles of k and v, and q. If q is held in registers it shares the last stage's
// place. Sizes and offsets in fp16 elements. None depends on the number of keys but the mask's bits.
struct HalfTiles {
  int64_t width, value_width, row_tiles, rows, key_tile, stages;
  constexpr int64_t wide() const { return rounded_up(width, 16); }
  constexpr int64_t value_wide() const { return rounded_up(value_width, 16); }
  // Registers per thread for sums and scores, and for q if there is room.
  constexpr int64_t sums() const { return row_tiles * (value_wide() / 2 + key_tile / 2); }
  constexpr bool holds_q() const { return sums() + row_tiles * wide() / 4 <= 176; }
  constexpr int64_t registers() const { return sums() + (holds_q() ? row_tiles * wide() / 4 : 0); }
  // Blocks that the registers should hold at once, 16,384 per quarter of a multiprocessor. Temporaries take
  // about 40 per thread (compiled for sm_90a); without the bound the compiler uses a few more, and one block
  // less fits.
  constexpr int64_t resident() const {
    const int64_t warps = rows / row_tiles / 16, in_quarter = 16384 / (32 * rounded_up(registers() + 40, 8));
    return 4 * in_quarter > warps ? 4 * in_quarter / warps : 1;
  }
  constexpr int64_t stage() const { return key_tile * (wide() + 8 + value_wide() + 8); }
  // Of at most so many, for the tiles that a block walks over. A mask's bits cover one window, so copies
  // don't run ahead into the next.
  static constexpr int64_t stages_of(int64_t wanted, const KeptTiles& kept) {
    const int64_t most = kept.rows > 0 && kept.window() < kept.tiles && wanted > 2 ? 2 : wanted;
    return most < kept.tiles ? most : kept.tiles;
  }
  constexpr bool shares() const { return holds_q() && stages > 1; }
  constexpr int64_t q_at() const { return (shares() ? stages - 1 : stages) * stage(); }
  constexpr int64_t kept_at() const {
    const int64_t q_end = q_at() + rows * (wide() + 8), tiles_end = stages * stage();
    return q_end > tiles_end ? q_end : tiles_end;
  }
  constexpr int64_t bytes(const KeptTiles& kept) const { return 2 * kept_at() + kept.bytes(); }
};

// matmul_tensor_core.h: a tile's pitch, and stages of both sides' tiles.
constexpr int64_t product_pitch(int64_t inner, bool depth_inside) {
  return depth_inside ? inner + 4 : inner % 16 == 8 ? inner : inner + 8;
}
constexpr int64_t tensor_core_product(int64_t rows, int64_t columns, int64_t depth, bool left_by_depth,
                                      bool right_by_depth, int64_t stages) {
  auto side = [&](int64_t count, bool depth_inside) {
    return depth_inside ? count * product_pitch(depth, true) : depth * product_pitch(count, false);
  };
  return 4 * stages * (side(rows, left_by_depth) + side(columns, right_by_depth));
}

// attention_few.h: prefetched rounds of keys, 16 bytes per lane for every chunk of k and v.
constexpr int64_t few_attention(int64_t warps, int64_t stages, int64_t ahead, int64_t chunks) {
  return stages > 1 ? warps * stages * ahead * 2 * chunks * 32 * 16 : 0;
}

// attention_wide_heads.h: two steps of 16 features of 64 queries and all keys, then weights of all keys and
// two steps of 16 keys of v.
constexpr int64_t wide_heads_share(int64_t count) {
  return rounded_up(divided_up(count, 8), 16);
}  // of a warp
constexpr int64_t wide_heads_attention(int64_t keys, int64_t value_width, int64_t parts) {
  const int64_t rows = 64, warps = 8, step = 16;
  const int64_t all_keys = warps * wide_heads_share(keys);
  const int64_t share = wide_heads_share(value_width), columns = warps * (share < 64 ? share : 64);
  const int64_t scores = 2 * (rows + all_keys) * (step + 8);
  const int64_t results = rows * (all_keys + 8) + 2 * step * (columns + 8);
  return 2 * parts * (scores > results ? scores : results);
}

// recurrence_persistent.h: two steps of the state and of the input, one row of samples per feature; input: of
// the widest layer.
constexpr int64_t persistent_recurrence(int64_t hidden, int64_t input, int64_t samples, int64_t slices) {
  const int64_t quads = divided_up(samples, 4), row = (quads % 2 ? quads : quads + 1) * 16;
  return 2 * (rounded_up(hidden, slices) + rounded_up(input, slices)) * row;
}
}  // namespace shared_memory
}  // namespace stitch
