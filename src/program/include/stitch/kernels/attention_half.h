// Flash attention for fp16 and bf16 on tensor cores, with FP32 sums and softmax. A block holds `rows` queries
// of one head of k and v and walks over the keys tile by tile (attention_half_softmax.h: online softmax);
// each warp holds 16 · row_tiles rows in registers, so scores become weights in place. The next tile is
// copied into the other half of shared memory meanwhile (cp.async): one barrier per tile. `group` heads of q
// that share a head of k are rows of one block: with few queries, as in decoding, k and v are read once for
// all of them, `splits` blocks share the keys, and a second pass combines their partial results in the
// workspace. Later keys may be in other tensors: a cache and the tensor appended to it are read in place.
// Tiles of keys that a bool mask hides completely are skipped (attention_half_tiles.h), and so are a warp's
// products with fully masked tiles. Besides attention_heads.h and attention_half_tiles.h:
//     static constexpr int warps, row_tiles, key_tile, group, splits, stages;
//     static constexpr int rest;  // keys of a partial last tile; 0: none; -1: known at run time
//     static constexpr Index k_step, v_step;  // stride between keys; 0 if not uniform
//     static constexpr Index k_joint, v_joint;  // the first key in the other tensor; `keys`: none
//     __device__ static Index k_tail(Index head, Index key, Index i);  // also v_tail; from the joint on
//     static constexpr bool runs;       // 8 elements of a row of q, k, v are contiguous, 16-byte aligned
//     static constexpr bool out_pairs;  // two of the result (attention_heads.h)
// Moves q and the result once, k and v once per block of queries, mostly from L2.
#pragma once

#include <type_traits>

#include "stitch/kernels/attention_half_softmax.h"
#include "stitch/kernels/attention_half_tiles.h"
#include "stitch/kernels/attention_heads.h"
#include "stitch/kernels/matmul.h"
#include "stitch/kernels/shared_memory.h"
#include "stitch/runtime/async_copy.h"
#include "stitch/runtime/mma.h"

namespace stitch {
// How a grid shares the queries and keys.
template <class Heads, int rows>
struct HalfGrid {
  using Index = typename Heads::Index;
  Heads heads;
  Index all_rows, tiles, key_heads;  // rows: per head of k and v
  Index keys_per_split;

  __host__ __device__ explicit constexpr HalfGrid(Heads of)
      : heads(of),
        all_rows(Heads::group * heads.queries),
        tiles((all_rows + rows - 1) / rows),
        key_heads(heads.heads / Heads::group),
        keys_per_split(((heads.keys + Heads::key_tile - 1) / Heads::key_tile + Heads::splits - 1) /
                       Heads::splits * Heads::key_tile) {}
  __host__ __device__ constexpr int64_t blocks() const { return int64_t{tiles} * key_heads * Heads::splits; }
  __host__ __device__ constexpr shared_memory::KeptTiles kept() const {
    return {Heads::masking != Masking::keeping        ? 0
            : Heads::mask_queries || Heads::group > 1 ? rows
                                                      : 1,
            keys_per_split / Heads::key_tile};
  }
};

// The block's queries and keys.
template <class Heads, int rows>
struct HalfBlock : HalfGrid<Heads, rows> {
  using Grid = HalfGrid<Heads, rows>;
  using Index = typename Heads::Index;
  using Grid::all_rows, Grid::heads, Grid::key_heads, Grid::keys_per_split, Grid::tiles;
  Index row0, head0, split, first_key, last_key;

  __device__ __forceinline__ explicit HalfBlock(Heads of) : Grid(of) {
    // Blocks with the least work come last, to shorten the tail: the first queries of all heads if causal,
    // otherwise a partial tile.
    const bool heads_first = Heads::causal || (all_rows % rows != 0 && Grid::blocks() <= 4096);
    const Index number = static_cast<Index>(blockIdx.x);
    const Index tile = heads_first ? number / key_heads % tiles : number % tiles;
    row0 = (Heads::causal ? tiles - 1 - tile : tile) * rows;
    head0 = (heads_first ? number % key_heads : number / tiles % key_heads) * Heads::group;
    split = number / (tiles * key_heads);
    first_key = Heads::splits == 1 ? 0 : split * keys_per_split;
    last_key = heads.keys;
    if (Heads::splits > 1 && first_key + keys_per_split < last_key) last_key = first_key + keys_per_split;
    if (Heads::causal && Heads::group == 1 && row0 + rows < last_key) last_key = row0 + rows;
  }
  __device__ __forceinline__ Index head_of(Index row) const {
    return Heads::group == 1 ? head0 : head0 + (row0 + row) / heads.queries;
  }
  __device__ __forceinline__ Index query_of(Index row) const {
    return Heads::group == 1 ? row0 + row : (row0 + row) % heads.queries;
  }
};

template <class Heads>
struct HalfAttention {
  using Index = typename Heads::Index;
  using Number = typename Heads::Key;
  static constexpr bool is_bfloat = std::is_same_v<Number, __nv_bfloat16>;
  static constexpr int threads = Heads::warps * 32, rows = Heads::warps * Heads::row_tiles * 16;
  using Grid = HalfGrid<Heads, rows>;
  using Block = HalfBlock<Heads, rows>;
  static constexpr int round_up(int count) { return (count + 15) / 16 * 16; }
  static constexpr int width = round_up(Heads::width), value_width = round_up(Heads::value_width);
  static constexpr int pitch = width + 8, value_pitch = value_width + 8;  // an odd number of 16 bytes
  static constexpr int depth_tiles = width / 16, value_tiles = value_width / 8;
  static constexpr bool keeping = Heads::masking == Masking::keeping;

  static constexpr shared_memory::HalfTiles sizes{.width = Heads::width,
                                                  .value_width = Heads::value_width,
                                                  .row_tiles = Heads::row_tiles,
                                                  .rows = rows,
                                                  .key_tile = Heads::key_tile,
                                                  .stages = Heads::stages};
  static constexpr bool holds_q = sizes.holds_q();
  // Offsets in shared memory, in elements.
  static constexpr int stage = static_cast<int>(sizes.stage()), v_at = Heads::key_tile * pitch,
                       q_at = static_cast<int>(sizes.q_at()), kept_at = static_cast<int>(sizes.kept_at());
  static constexpr int stages = Heads::stages, resident = static_cast<int>(sizes.resident());
  // Copies that may still be in flight when q, or a tile, is needed.
  static constexpr int behind_q = stages > 1 ? stages - 1 : 1, behind_tile = stages > 1 ? stages - 2 : 0;

  static __device__ __forceinline__ void multiply(float (&sums)[4], const MmaLeft& left,
                                                  const MmaRight& right) {
    if constexpr (is_bfloat)
      mma_bfloat(sums, left, right);
    else
      mma(sums, left, right);
  }
  static __device__ __forceinline__ uint32_t pair(float first, float second) {
    if constexpr (is_bfloat)
      return bfloat_pair(first, second);
    else
      return half_pair(first, second);
  }
};

// A warp's state for 16 rows.
template <class Heads>
struct HalfRows {
  using Sizes = HalfAttention<Heads>;
  MmaLeft q[Sizes::holds_q ? Sizes::depth_tiles : 1];
  float sums[Sizes::value_tiles][4] = {};
  float base[2] = {HalfScale<Heads>::lowest, HalfScale<Heads>::lowest}, total[2] = {};
};

// One tile of `count` keys for the rows of a warp, of fewer if `rest` < 0 and they are the last.
template <class Heads, bool vectors, int count>
__device__ __forceinline__ void attend_tile(HalfRows<Heads> (&rows)[Heads::row_tiles], const __half* q_tile,
                                            const __half* k_tile, const __half* v_tile,
                                            const typename HalfAttention<Heads>::Block& block,
                                            const KeptTile<Heads>& kept,
                                            const typename Heads::Mask* __restrict__ mask,
                                            typename Heads::Index key0, int warp_row) {
  using Index = typename Heads::Index;
  using Sizes = HalfAttention<Heads>;
  constexpr int row_tiles = Heads::row_tiles, keys = (count + 15) / 16 * 16, key_tiles = keys / 8;
  const Heads& heads = block.heads;
  const Index left_over = heads.keys - key0;
  const int valid_keys = Heads::rest < 0 && left_over < count ? static_cast<int>(left_over) : count;
  const int lane = static_cast<int>(threadIdx.x) % 32, group = lane / 4, pair = lane % 4;

  // Mask values are loaded before the products, which hide their latency.
  uint64_t bits[row_tiles][2];
  bool any = false, all = true;
  Pack<typename Heads::Mask, 2> added[Heads::masking == Masking::adding ? row_tiles : 1][key_tiles][2];
#pragma unroll
  for (int m = 0; m < row_tiles; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + m * 16 + r * 8 + group;
      const bool valid = block.row0 + row < block.all_rows;
      if constexpr (Sizes::keeping) {
        const uint64_t of_row = kept.bits[2 * m + r];
        any |= valid && of_row != 0;
        all &= !valid || of_row == (keys == 64 ? ~uint64_t{0} : (uint64_t{1} << keys % 64) - 1);
        bits[m][r] = of_row >> (2 * pair);
      } else {
        bits[m][r] = 0;
      }
      if constexpr (Heads::masking == Masking::adding) {
        const Index head = valid ? block.head_of(row) : block.head0,
                    query = valid ? block.query_of(row) : block.query_of(0);
#pragma unroll
        for (int n = 0; n < key_tiles; ++n) {
          const int i = n * 8 + 2 * pair;
          Pack<typename Heads::Mask, 2>& two = added[m][n][r];
          if constexpr (vectors && Heads::mask_run > 1) {
            if ((Heads::rest >= 0 && n * 8 + 8 <= count) || i < valid_keys)
              two = load<2>(mask + heads.mask(head, query, key0 + i), 0);
          } else {
#pragma unroll
            for (int e = 0; e < 2; ++e)
              if ((Heads::rest >= 0 && n * 8 + 8 <= count) || i + e < valid_keys)
                two[e] = mask[heads.mask(head, query, key0 + i + e)];
          }
        }
      }
    }
  if constexpr (Sizes::keeping) {
    if (!__any_sync(0xffffffffu, any)) return;
    all = __all_sync(0xffffffffu, all);
  }

  float scores[row_tiles][key_tiles][4] = {};
#pragma unroll
  for (int d = 0; d < Sizes::depth_tiles; ++d) {
    MmaLeft left[row_tiles];
#pragma unroll
    for (int m = 0; m < row_tiles; ++m) {
      if constexpr (Sizes::holds_q)
        left[m] = rows[m].q[d];
      else
        left[m] = load_left(q_tile + (warp_row + m * 16) * Sizes::pitch + d * 16, Sizes::pitch);
    }
#pragma unroll
    for (int n = 0; n < key_tiles; n += 2) {
      MmaRight right[2];
      load_right_from_rows(right, k_tile + n * 8 * Sizes::pitch + d * 16, Sizes::pitch);
#pragma unroll
      for (int m = 0; m < row_tiles; ++m)
#pragma unroll
        for (int e = 0; e < 2; ++e) Sizes::multiply(scores[m][n + e], left[m], right[e]);
    }
  }

#pragma unroll
  for (int m = 0; m < row_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + m * 16 + r * 8 + group;
      // The tile's first key that is masked for this row (causal), or the first that isn't there.
      Index past = Heads::causal ? block.query_of(row) + 1 - key0 : count;
      bool bounded = Heads::causal && (Heads::group > 1 || key0 + count > block.row0 + warp_row + m * 16 + 1);
      if (Heads::rest < 0 && valid_keys < count) {
        past = past < valid_keys ? past : valid_keys;
        bounded = true;
      }
      mask_scores<Heads, count>(scores[m], r, bits[m][r], all,
                                added[Heads::masking == Masking::adding ? m : 0],
                                static_cast<int>(past) - 2 * pair, bounded);
    }
    weigh_scores<Heads>(scores[m], rows[m].sums, rows[m].base, rows[m].total);
  }

#pragma unroll
  for (int n = 0; n < key_tiles / 2; ++n) {
    MmaLeft left[row_tiles];
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const float* two = scores[m][2 * n + p / 2] + p % 2 * 2;
        left[m].parts[p] = Sizes::pair(two[0], two[1]);
      }
#pragma unroll
    for (int d = 0; d < Sizes::value_tiles; d += 2) {
      MmaRight right[2];
      load_right_from_columns(right, v_tile + n * 16 * Sizes::value_pitch + d * 8, Sizes::value_pitch);
#pragma unroll
      for (int m = 0; m < row_tiles; ++m)
#pragma unroll
        for (int e = 0; e < 2; ++e) Sizes::multiply(rows[m].sums[d + e], left[m], right[e]);
    }
  }
}

// Stores a row of the result, or its partial result for the second pass. All lanes of a row must call it,
// valid or not.
template <class Heads, bool vectors, int value_tiles, class Epilogue>
__device__ __forceinline__ void store_half_row(Heads heads, const float (&sums)[value_tiles][4], int r,
                                               float base, float total, bool valid,
                                               typename Heads::Index head, typename Heads::Index query,
                                               typename Heads::Index split,
                                               typename Heads::Out* __restrict__ out,
                                               float* __restrict__ partial, Epilogue& epilogue) {
  constexpr bool softmax = Heads::weights != Weights::relu;
  const int pair = static_cast<int>(threadIdx.x) % 4;
  total += __shfl_xor_sync(0xffffffffu, total, 1);
  total += __shfl_xor_sync(0xffffffffu, total, 2);
  if constexpr (!softmax) total = 1.0f;
  if (!valid) return;
  if constexpr (Heads::splits == 1) {
    store_attention_row<Heads, vectors>(heads, sums, r, total, 1.0f, head, query, 2 * pair, out, epilogue);
  } else {
    const int64_t whole = int64_t{heads.heads} * heads.queries;
    const int64_t at = split * whole + int64_t{head} * heads.queries + query;
    float* to = partial + at * Heads::value_width;
#pragma unroll
    for (int n = 0; n < value_tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (n * 8 + 2 * pair + e < Heads::value_width) to[n * 8 + 2 * pair + e] = sums[n][2 * r + e];
    // The base as a power of two, and the sum of weights.
    float* row_of = partial + Heads::splits * whole * Heads::value_width + 2 * at;
    if (pair == 0) row_of[0] = softmax ? HalfScale<Heads>::exponent(base) : 0.0f, row_of[1] = total;
  }
}

template <class Heads, bool vectors, class Epilogue>
__device__ __forceinline__ void half_attention_block(
    const typename Heads::Query* __restrict__ q, const typename Heads::Key* __restrict__ k,
    const typename Heads::Value* __restrict__ v, const typename Heads::Key* __restrict__ k_tail,
    const typename Heads::Value* __restrict__ v_tail, const typename Heads::Mask* __restrict__ mask,
    typename Heads::Out* __restrict__ out, float* __restrict__ partial, Epilogue& epilogue, Heads heads) {
  using Index = typename Heads::Index;
  using Sizes = HalfAttention<Heads>;
  constexpr int row_tiles = Heads::row_tiles;
  extern __shared__ uint4 attention_shared[];
  __half* tiles =
      reinterpret_cast<__half*>(attention_shared);  // stages of (key tile, width), (key tile, value width)
  __half* q_tile = tiles + Sizes::q_at;             // (rows, width)

  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, group = lane / 4,
            warp_row = thread / 32 * row_tiles * 16;
  const typename Sizes::Block block(heads);
  const Index row0 = block.row0, last_key = block.last_key;
  auto fetch = [&](Index key0, int stage) {
    __half* to = tiles + stage * Sizes::stage;
    const Index count = last_key - key0;
    auto k_at = [&](int row, int i) { return heads.k(block.head0, key0 + row, i); };
    auto v_at = [&](int row, int i) { return heads.v(block.head0, key0 + row, i); };
    // Few tiles, if any: those with appended keys.
    if (heads.k_joint < heads.keys || heads.v_joint < heads.keys) {
      const Index joint = heads.k_joint < heads.v_joint ? heads.k_joint : heads.v_joint;
      if (key0 + Heads::key_tile > joint) {
        const Index k_joint = heads.k_joint - key0, v_joint = heads.v_joint - key0;
        const Index k_from = k_joint < 0 ? -k_joint : 0, v_from = v_joint < 0 ? -v_joint : 0;
        fetch_joined_rows<Sizes::threads, Heads::key_tile, Heads::width, vectors>(
            to, k, k_at, k_tail, [&](int row, int i) { return heads.k_tail(block.head0, k_from + row, i); },
            k_joint < 0 ? 0 : k_joint, count);
        fetch_joined_rows<Sizes::threads, Heads::key_tile, Heads::value_width, vectors>(
            to + Sizes::v_at, v, v_at, v_tail,
            [&](int row, int i) { return heads.v_tail(block.head0, v_from + row, i); },
            v_joint < 0 ? 0 : v_joint, count);
        return;
      }
    }
    fetch_rows<Sizes::threads, Heads::key_tile, Heads::width, vectors>(to, k, heads.k_step, count, k_at);
    fetch_rows<Sizes::threads, Heads::key_tile, Heads::value_width, vectors>(to + Sizes::v_at, v,
                                                                             heads.v_step, count, v_at);
  };

  fetch_rows<Sizes::threads, Sizes::rows, Heads::width, vectors>(
      q_tile, q, 0, block.all_rows - row0,
      [&](int row, int i) { return heads.q(block.head_of(row), block.query_of(row), i); });
  close_copies();
  // Prefetch the first tile while the mask is read: masks rarely hide it.
  if (block.first_key < last_key) fetch(block.first_key, 0);
  close_copies();
  auto kept = [&] {
    if constexpr (Sizes::keeping)
      return KeptKeys<Heads, typename Sizes::Block, Sizes::rows, Sizes::threads, vectors>(
          block, mask, tiles + Sizes::kept_at);
    else
      return AllKeys<Heads>{};
  }();
  Index key0 = kept.next(block.first_key);
  if (Sizes::keeping && key0 != block.first_key && key0 < last_key) {
    wait_for_copies<0>();
    fetch(key0, 0);
    close_copies();
  }
  Index ahead = key0;  // the last tile being fetched
#pragma unroll
  for (int stage = 1; stage < Sizes::stages - 1; ++stage) {
    ahead = kept.next(ahead + Heads::key_tile);
    if (ahead < last_key) fetch(ahead, stage);
    close_copies();
  }
  HalfRows<Heads> rows[row_tiles];
  if constexpr (Sizes::holds_q) {
    wait_for_copies<Sizes::behind_q>();
    __syncthreads();
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int d = 0; d < Sizes::depth_tiles; ++d)
        rows[m].q[d] = load_left(q_tile + (warp_row + m * 16) * Sizes::pitch + d * 16, Sizes::pitch);
  }
  const bool busy = row0 + warp_row < block.all_rows;
  for (int stage = 0, free = Sizes::stages - 1; key0 < last_key;) {
    wait_for_copies<Sizes::behind_tile>();
    __syncthreads();  // this tile has arrived, and the previous one is no longer read
    const bool sees = busy && (!Heads::causal || Heads::group > 1 || key0 < row0 + warp_row + row_tiles * 16);
    const __half *k_tile = tiles + stage * Sizes::stage, *v_tile = k_tile + Sizes::v_at;
    const auto now = kept.at(key0);
    ahead = kept.next(ahead + Heads::key_tile);
    if (Sizes::stages > 1 && ahead < last_key) fetch(ahead, free);
    close_copies();
    const Index next = Sizes::stages <= 2 ? ahead : kept.next(key0 + Heads::key_tile);
    if (sees) {
      if (Heads::rest > 0 && key0 + Heads::key_tile > heads.keys)
        attend_tile<Heads, vectors, Heads::rest <= 0 ? Heads::key_tile : Heads::rest>(
            rows, q_tile, k_tile, v_tile, block, now, mask, key0, warp_row);
      else if (Heads::rest < 0 || heads.keys >= Heads::key_tile)
        attend_tile<Heads, vectors, Heads::key_tile>(rows, q_tile, k_tile, v_tile, block, now, mask, key0,
                                                     warp_row);
    }
    key0 = next;
    free = stage;
    stage = stage + 1 == Sizes::stages ? 0 : stage + 1;
  }

#pragma unroll
  for (int m = 0; m < row_tiles; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + m * 16 + r * 8 + group;
      store_half_row<Heads, vectors>(heads, rows[m].sums, r, rows[m].base[r], rows[m].total[r],
                                     row0 + row < block.all_rows, block.head_of(row), block.query_of(row),
                                     block.split, out, partial, epilogue);
    }
}

template <class Heads, bool vectors, class Epilogue>
__global__ void __launch_bounds__(Heads::warps * 32, HalfAttention<Heads>::resident)
    half_attention(const typename Heads::Query* __restrict__ q, const typename Heads::Key* __restrict__ k,
                   const typename Heads::Value* __restrict__ v,
                   const typename Heads::Key* __restrict__ k_tail,
                   const typename Heads::Value* __restrict__ v_tail,
                   const typename Heads::Mask* __restrict__ mask, typename Heads::Out* __restrict__ out,
                   float* __restrict__ partial, Epilogue epilogue, Heads heads) {
  wait_for_previous_kernel();
  half_attention_block<Heads, vectors>(q, k, v, k_tail, v_tail, mask, out, partial, epilogue, heads);
}

// One thread per element: sums the splits, rescaled to the common maximum.
template <class Heads, class Epilogue>
__global__ void __launch_bounds__(256)
    combine_attention(const float* __restrict__ partial, typename Heads::Out* __restrict__ out,
                      Epilogue epilogue, Heads heads) {
  wait_for_previous_kernel();
  using Index = typename Heads::Index;
  const int64_t whole = int64_t{heads.heads} * heads.queries;
  const int64_t element = int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (element >= whole * Heads::value_width) return;
  const int64_t row = element / Heads::value_width;
  const int i = static_cast<int>(element % Heads::value_width);
  const auto* rows =
      reinterpret_cast<const Pack<float, 2>*>(partial + Heads::splits * whole * Heads::value_width);
  float most = -INFINITY;
#pragma unroll 8
  for (int s = 0; s < Heads::splits; ++s) most = fmaxf(most, rows[s * whole + row][0]);
  if (most == -INFINITY) most = 0.0f;
  float sum = 0.0f, total = 0.0f;
#pragma unroll 8
  for (int s = 0; s < Heads::splits; ++s) {
    const Pack<float, 2> of = rows[s * whole + row];
    const float scale = exp2f(of[0] - most);
    total += of[1] * scale;
    sum += partial[(s * whole + row) * Heads::value_width + i] * scale;
  }
  if constexpr (Heads::weights == Weights::relu) total = 1.0f;
  const bool nothing = Heads::weights != Weights::softmax && total == 0.0f;
  const Index head = static_cast<Index>(row / heads.queries), query = static_cast<Index>(row % heads.queries);
  out[heads.out(head, query, i)] = static_cast<typename Heads::Out>(
      epilogue(nothing ? 0.0f : sum / total, heads.position(head, query, static_cast<Index>(i))));
}

template <class Heads, class Epilogue>
StitchStatus combine_splits(const char* name, Heads heads, const float* partial, typename Heads::Out* out,
                            Epilogue epilogue, cudaStream_t stream) {
  if constexpr (Heads::splits > 1) {
    const int64_t elements = int64_t{heads.heads} * heads.queries * Heads::value_width;
    return launch(name, combine_attention<Heads, Epilogue>, spread(elements, 256), stream, partial, out,
                  epilogue, heads);
  }
  return STITCH_OK;
}

template <class Heads, class Epilogue>
StitchStatus enqueue_half_attention(const char* name, Heads heads, const typename Heads::Query* q,
                                    const typename Heads::Key* k, const typename Heads::Value* v,
                                    const typename Heads::Mask* mask, typename Heads::Out* out,
                                    Epilogue epilogue, float* partial, cudaStream_t stream,
                                    const typename Heads::Key* k_tail = nullptr,
                                    const typename Heads::Value* v_tail = nullptr) {
  using Sizes = HalfAttention<Heads>;
  const typename Sizes::Grid grid(heads);
  static_assert(Heads::key_tile % 16 == 0 && Heads::key_tile <= (Sizes::keeping ? 64 : 128),
                "a tile of keys is 16 to 128");
  const Geometry geometry{blocks_of(grid.blocks()), Sizes::threads,
                          static_cast<size_t>(Sizes::sizes.bytes(grid.kept()))};
  auto run = [&]() -> StitchStatus {
    if constexpr (Heads::runs) {
      auto aligned = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; };
      if (aligned(q) && aligned(k) && aligned(v) && aligned(k_tail) && aligned(v_tail) && aligned(out) &&
          aligned(mask))
        return launch(name, half_attention<Heads, true, Epilogue>, geometry, stream, q, k, v, k_tail, v_tail,
                      mask, out, partial, epilogue, heads);
    }
    return launch(name, half_attention<Heads, false, Epilogue>, geometry, stream, q, k, v, k_tail, v_tail,
                  mask, out, partial, epilogue, heads);
  };
  STITCH_OK_OR_RETURN(run());
  return combine_splits(name, heads, partial, out, epilogue, stream);
}

}  // namespace stitch
