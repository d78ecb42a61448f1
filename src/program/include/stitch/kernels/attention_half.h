// Attention of fp16 or bf16 tensors, one product a tile on tensor cores, sums and softmax in FP32, scores
// never in memory. A block keeps `rows` queries of one head of k and v and walks over the keys, a tile at a
// time (attention_half_softmax.h: online softmax); each warp has 16 · row_tiles rows to itself, and holds
// them in registers, so scores become weights where they are. While a tile is multiplied the next one arrives
// in the other half of shared memory (cp.async): one barrier a tile. `group` heads of q that share a head of
// k count as rows of one block: with few queries, as in a step of decoding, k and v are read once for all of
// them. There, `splits` blocks share the keys, and a second pass combines what they leave in the workspace.
// Later keys may lie in other tensors: a cache and what is appended to it are read where they are.
// Tiles of keys that a bool mask drops altogether are skipped (attention_half_mask.h), and so are a warp's
// products with what it masks altogether. Besides what attention_heads.h and attention_half_mask.h ask for:
//     static constexpr int warps, row_tiles, key_tile, group, splits, stages;
//     static constexpr Index k_step, v_step;  // from key to key, 0 if that isn't the same everywhere
//     static constexpr Index k_joint, v_joint;  // the first key that lies elsewhere; `keys`: none
//     __device__ static Index k_tail(Index head, Index key, Index i);  // also v_tail; from the joint on
//     static constexpr bool runs;       // eight neighbours in a row of q, k, v lie side by side, at 16 bytes
//     static constexpr bool out_pairs;  // two of the result (attention_result.h)
// Moves q and the result once, k and v once for every block of queries, mostly out of L2.
#pragma once

#include <type_traits>

#include "stitch/kernels/attention_half_copy.h"
#include "stitch/kernels/attention_half_mask.h"
#include "stitch/kernels/attention_half_softmax.h"
#include "stitch/kernels/attention_result.h"
#include "stitch/kernels/matmul.h"
#include "stitch/kernels/shared_memory.h"
#include "stitch/runtime/async_copy.h"
#include "stitch/runtime/mma.h"

namespace stitch {
// Which queries and keys are this block's.
template <class H, int rows>
struct HalfBlock {
  using Index = typename H::Index;
  static constexpr Index all_rows = H::group * H::queries;  // of a head of k and v
  static constexpr Index tiles = (all_rows + rows - 1) / rows, heads = H::heads / H::group;
  static constexpr Index key_tiles = (H::keys + H::key_tile - 1) / H::key_tile,
                         keys_per_split = (key_tiles + H::splits - 1) / H::splits * H::key_tile;
  static constexpr int64_t blocks = int64_t{tiles} * heads * H::splits;
  // Blocks with least to do come last, so that the GPU runs out of work everywhere at once: the first queries
  // of all heads where attention is causal, otherwise a tile that isn't full.
  static constexpr bool heads_first = H::causal || (all_rows % rows != 0 && blocks <= 4096);
  Index row0, head0, split, first_key, last_key;

  __device__ __forceinline__ HalfBlock() {
    const Index number = static_cast<Index>(blockIdx.x);
    const Index tile = heads_first ? number / heads % tiles : number % tiles;
    row0 = (H::causal ? tiles - 1 - tile : tile) * rows;
    head0 = (heads_first ? number % heads : number / tiles % heads) * H::group;
    split = number / (tiles * heads);
    first_key = H::splits == 1 ? 0 : split * keys_per_split;
    last_key = H::keys;
    if (H::splits > 1 && first_key + keys_per_split < last_key) last_key = first_key + keys_per_split;
    if (H::causal && H::group == 1 && row0 + rows < last_key) last_key = row0 + rows;
  }
  __device__ __forceinline__ Index head_of(Index row) const {
    return H::group == 1 ? head0 : head0 + (row0 + row) / H::queries;
  }
  __device__ __forceinline__ Index query_of(Index row) const {
    return H::group == 1 ? row0 + row : (row0 + row) % H::queries;
  }
};

template <class H>
struct HalfAttention {
  using Index = typename H::Index;
  using Number = typename H::Key;
  static constexpr bool is_bfloat = std::is_same_v<Number, __nv_bfloat16>;
  static constexpr int threads = H::warps * 32, rows = H::warps * H::row_tiles * 16;
  using Block = HalfBlock<H, rows>;
  static constexpr int round_up(int count) { return (count + 15) / 16 * 16; }
  static constexpr int width = round_up(H::width), value_width = round_up(H::value_width);
  static constexpr int pitch = width + 8, value_pitch = value_width + 8;  // an odd number of 16 bytes
  static constexpr int depth_tiles = width / 16, value_tiles = value_width / 8;
  static constexpr Index all_rows = Block::all_rows;
  static constexpr bool keeping = H::masking == Masking::keeping;
  // Keys of the last tile, where it isn't full.
  static constexpr int rest = H::keys % H::key_tile;

  static constexpr shared_memory::HalfTiles sizes{.width = H::width,
                                                  .value_width = H::value_width,
                                                  .row_tiles = H::row_tiles,
                                                  .rows = rows,
                                                  .key_tile = H::key_tile,
                                                  .tiles = Block::keys_per_split / H::key_tile,
                                                  .mask_rows = !keeping                          ? 0
                                                               : H::mask_queries || H::group > 1 ? rows
                                                                                                 : 1,
                                                  .most_stages = H::stages};
  static constexpr bool holds_q = sizes.holds_q();
  // Places in shared memory, in numbers.
  static constexpr int stage = static_cast<int>(sizes.stage()), v_at = H::key_tile * pitch,
                       q_at = static_cast<int>(sizes.q_at()), kept_at = static_cast<int>(sizes.kept_at());
  static constexpr size_t shared_bytes = static_cast<size_t>(sizes.bytes());
  static constexpr int stages = static_cast<int>(sizes.stages()),
                       resident = static_cast<int>(sizes.resident());
  // Copies that may still be under way when q, or a tile, has to be there.
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

// What a warp has of 16 rows.
template <class H>
struct HalfRows {
  using S = HalfAttention<H>;
  MmaLeft q[S::holds_q ? S::depth_tiles : 1];
  float sums[S::value_tiles][4] = {};
  float base[2] = {HalfScale<H>::lowest, HalfScale<H>::lowest}, total[2] = {};
};

// One tile of `count` keys for the rows of a warp.
template <class H, bool vectors, int count>
__device__ __forceinline__ void attend_tile(HalfRows<H> (&rows)[H::row_tiles], const __half* q_tile,
                                            const __half* k_tile, const __half* v_tile,
                                            const typename HalfAttention<H>::Block& block,
                                            const KeptTile<H>& kept,
                                            const typename H::Mask* __restrict__ mask, typename H::Index key0,
                                            int warp_row) {
  using Index = typename H::Index;
  using S = HalfAttention<H>;
  constexpr int row_tiles = H::row_tiles, keys = (count + 15) / 16 * 16, key_tiles = keys / 8;
  const int lane = static_cast<int>(threadIdx.x) % 32, group = lane / 4, pair = lane % 4;

  // What a row adds or keeps is asked for before the products, which hide how long it takes.
  uint64_t bits[row_tiles][2];
  bool any = false, all = true;
  Pack<typename H::Mask, 2> added[H::masking == Masking::adding ? row_tiles : 1][key_tiles][2];
#pragma unroll
  for (int m = 0; m < row_tiles; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + m * 16 + r * 8 + group;
      const bool there = block.row0 + row < S::all_rows;
      if constexpr (S::keeping) {
        const uint64_t of_row = kept.bits[2 * m + r];
        any |= there && of_row != 0;
        all &= !there || of_row == (keys == 64 ? ~uint64_t{0} : (uint64_t{1} << keys % 64) - 1);
        bits[m][r] = of_row >> (2 * pair);
      } else {
        bits[m][r] = 0;
      }
      if constexpr (H::masking == Masking::adding) {
        const Index head = there ? block.head_of(row) : block.head0,
                    query = there ? block.query_of(row) : block.query_of(0);
#pragma unroll
        for (int n = 0; n < key_tiles; ++n) {
          const int i = n * 8 + 2 * pair;
          Pack<typename H::Mask, 2>& two = added[m][n][r];
          if constexpr (vectors && H::mask_run > 1) {
            if (n * 8 + 8 <= count || i < count) two = load<2>(mask + H::mask(head, query, key0 + i), 0);
          } else {
#pragma unroll
            for (int e = 0; e < 2; ++e)
              if (n * 8 + 8 <= count || i + e < count) two[e] = mask[H::mask(head, query, key0 + i + e)];
          }
        }
      }
    }
  if constexpr (S::keeping) {
    if (!__any_sync(0xffffffffu, any)) return;
    all = __all_sync(0xffffffffu, all);
  }

  float scores[row_tiles][key_tiles][4] = {};
#pragma unroll
  for (int d = 0; d < S::depth_tiles; ++d) {
    MmaLeft left[row_tiles];
#pragma unroll
    for (int m = 0; m < row_tiles; ++m) {
      if constexpr (S::holds_q)
        left[m] = rows[m].q[d];
      else
        left[m] = load_left(q_tile + (warp_row + m * 16) * S::pitch + d * 16, S::pitch);
    }
#pragma unroll
    for (int n = 0; n < key_tiles; n += 2) {
      MmaRight right[2];
      load_right_from_rows(right, k_tile + n * 8 * S::pitch + d * 16, S::pitch);
#pragma unroll
      for (int m = 0; m < row_tiles; ++m)
#pragma unroll
        for (int e = 0; e < 2; ++e) S::multiply(scores[m][n + e], left[m], right[e]);
    }
  }

#pragma unroll
  for (int m = 0; m < row_tiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + m * 16 + r * 8 + group;
      // The tile's first key that this row must not see.
      const Index past = H::causal ? block.query_of(row) + 1 - key0 : count;
      const bool bounded = H::causal && (H::group > 1 || key0 + count > block.row0 + warp_row + m * 16 + 1);
      mask_scores<H, count>(scores[m], r, bits[m][r], all, added[H::masking == Masking::adding ? m : 0],
                            static_cast<int>(past) - 2 * pair, bounded);
    }
    weigh_scores<H>(scores[m], rows[m].sums, rows[m].base, rows[m].total);
  }

#pragma unroll
  for (int n = 0; n < key_tiles / 2; ++n) {
    MmaLeft left[row_tiles];
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const float* two = scores[m][2 * n + p / 2] + p % 2 * 2;
        left[m].parts[p] = S::pair(two[0], two[1]);
      }
#pragma unroll
    for (int d = 0; d < S::value_tiles; d += 2) {
      MmaRight right[2];
      load_right_from_columns(right, v_tile + n * 16 * S::value_pitch + d * 8, S::value_pitch);
#pragma unroll
      for (int m = 0; m < row_tiles; ++m)
#pragma unroll
        for (int e = 0; e < 2; ++e) S::multiply(rows[m].sums[d + e], left[m], right[e]);
    }
  }
}

// A row of the result, or of what the second pass combines. All lanes of a row come here, there or not.
template <class H, bool vectors, int value_tiles, class Epilogue>
__device__ __forceinline__ void store_half_row(const float (&sums)[value_tiles][4], int r, float base,
                                               float total, bool there, typename H::Index head,
                                               typename H::Index query, typename H::Index split,
                                               typename H::Out* __restrict__ out, float* __restrict__ partial,
                                               Epilogue& epilogue) {
  constexpr bool softmax = H::weights != Weights::relu;
  const int pair = static_cast<int>(threadIdx.x) % 4;
  total += __shfl_xor_sync(0xffffffffu, total, 1);
  total += __shfl_xor_sync(0xffffffffu, total, 2);
  if constexpr (!softmax) total = 1.0f;
  if (!there) return;
  if constexpr (H::splits == 1) {
    store_attention_row<H, vectors>(sums, r, total, 1.0f, head, query, 2 * pair, out, epilogue);
  } else {
    constexpr int64_t whole = int64_t{H::heads} * H::queries;
    const int64_t at = split * whole + int64_t{head} * H::queries + query;
    float* to = partial + at * H::value_width;
#pragma unroll
    for (int n = 0; n < value_tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (n * 8 + 2 * pair + e < H::value_width) to[n * 8 + 2 * pair + e] = sums[n][2 * r + e];
    // The base in powers of two, and the sum of weights.
    float* row_of = partial + H::splits * whole * H::value_width + 2 * at;
    if (pair == 0) row_of[0] = softmax ? HalfScale<H>::exponent(base) : 0.0f, row_of[1] = total;
  }
}

template <class H, bool vectors, class Epilogue>
__device__ __forceinline__ void half_attention_block(
    const typename H::Query* __restrict__ q, const typename H::Key* __restrict__ k,
    const typename H::Value* __restrict__ v, const typename H::Key* __restrict__ k_tail,
    const typename H::Value* __restrict__ v_tail, const typename H::Mask* __restrict__ mask,
    typename H::Out* __restrict__ out, float* __restrict__ partial, Epilogue& epilogue) {
  using Index = typename H::Index;
  using S = HalfAttention<H>;
  constexpr int row_tiles = H::row_tiles;
  extern __shared__ uint4 attention_shared[];
  __half* tiles =
      reinterpret_cast<__half*>(attention_shared);  // stages of (key tile, width), (key tile, value width)
  __half* q_tile = tiles + S::q_at;                 // (rows, width)

  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, group = lane / 4,
            warp_row = thread / 32 * row_tiles * 16;
  const typename S::Block block;
  const Index row0 = block.row0, last_key = block.last_key;
  auto fetch = [&](Index key0, int stage) {
    __half* to = tiles + stage * S::stage;
    const Index count = last_key - key0;
    auto k_at = [&](int row, int i) { return H::k(block.head0, key0 + row, i); };
    auto v_at = [&](int row, int i) { return H::v(block.head0, key0 + row, i); };
    // Few tiles come here, if any: those that hold what was appended.
    if constexpr (H::k_joint < H::keys || H::v_joint < H::keys) {
      constexpr Index joint = H::k_joint < H::v_joint ? H::k_joint : H::v_joint;
      if (key0 + H::key_tile > joint) {
        const Index k_joint = H::k_joint - key0, v_joint = H::v_joint - key0;
        const Index k_from = k_joint < 0 ? -k_joint : 0, v_from = v_joint < 0 ? -v_joint : 0;
        fetch_joined_rows<S::threads, H::key_tile, H::width, vectors>(
            to, k, k_at, k_tail, [&](int row, int i) { return H::k_tail(block.head0, k_from + row, i); },
            k_joint < 0 ? 0 : k_joint, count);
        fetch_joined_rows<S::threads, H::key_tile, H::value_width, vectors>(
            to + S::v_at, v, v_at, v_tail,
            [&](int row, int i) { return H::v_tail(block.head0, v_from + row, i); },
            v_joint < 0 ? 0 : v_joint, count);
        return;
      }
    }
    fetch_rows<S::threads, H::key_tile, H::width, vectors, H::k_step>(to, k, count, k_at);
    fetch_rows<S::threads, H::key_tile, H::value_width, vectors, H::v_step>(to + S::v_at, v, count, v_at);
  };

  fetch_rows<S::threads, S::rows, H::width, vectors, 0>(q_tile, q, S::all_rows - row0, [&](int row, int i) {
    return H::q(block.head_of(row), block.query_of(row), i);
  });
  close_copies();
  // The first tile is on its way while the mask is read: few masks drop it.
  if (block.first_key < last_key) fetch(block.first_key, 0);
  close_copies();
  auto kept = [&] {
    if constexpr (S::keeping)
      return KeptKeys<H, typename S::Block, S::rows, S::threads, vectors>(block, mask, tiles + S::kept_at);
    else
      return AllKeys<H>{};
  }();
  Index key0 = kept.next(block.first_key);
  if (S::keeping && key0 != block.first_key && key0 < last_key) {
    wait_for_copies<0>();
    fetch(key0, 0);
    close_copies();
  }
  Index ahead = key0;  // the last tile that is on its way
#pragma unroll
  for (int stage = 1; stage < S::stages - 1; ++stage) {
    ahead = kept.next(ahead + H::key_tile);
    if (ahead < last_key) fetch(ahead, stage);
    close_copies();
  }
  HalfRows<H> rows[row_tiles];
  if constexpr (S::holds_q) {
    wait_for_copies<S::behind_q>();
    __syncthreads();
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int d = 0; d < S::depth_tiles; ++d)
        rows[m].q[d] = load_left(q_tile + (warp_row + m * 16) * S::pitch + d * 16, S::pitch);
  }
  const bool busy = row0 + warp_row < S::all_rows;
  for (int stage = 0, free = S::stages - 1; key0 < last_key;) {
    wait_for_copies<S::behind_tile>();
    __syncthreads();  // this tile is there, and nobody reads the one before it any more
    const bool sees = busy && (!H::causal || H::group > 1 || key0 < row0 + warp_row + row_tiles * 16);
    const __half *k_tile = tiles + stage * S::stage, *v_tile = k_tile + S::v_at;
    const auto now = kept.at(key0);
    ahead = kept.next(ahead + H::key_tile);
    if (S::stages > 1 && ahead < last_key) fetch(ahead, free);
    close_copies();
    const Index next = S::stages <= 2 ? ahead : kept.next(key0 + H::key_tile);
    if (sees) {
      if (S::rest != 0 && key0 + H::key_tile > H::keys)
        attend_tile<H, vectors, S::rest == 0 ? H::key_tile : S::rest>(rows, q_tile, k_tile, v_tile, block,
                                                                      now, mask, key0, warp_row);
      else if constexpr (H::keys >= H::key_tile)
        attend_tile<H, vectors, H::key_tile>(rows, q_tile, k_tile, v_tile, block, now, mask, key0, warp_row);
    }
    key0 = next;
    free = stage;
    stage = stage + 1 == S::stages ? 0 : stage + 1;
  }

#pragma unroll
  for (int m = 0; m < row_tiles; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + m * 16 + r * 8 + group;
      store_half_row<H, vectors>(rows[m].sums, r, rows[m].base[r], rows[m].total[r], row0 + row < S::all_rows,
                                 block.head_of(row), block.query_of(row), block.split, out, partial,
                                 epilogue);
    }
}

template <class H, bool vectors, class Epilogue>
__global__ void __launch_bounds__(H::warps * 32, HalfAttention<H>::resident)
    half_attention(const typename H::Query* __restrict__ q, const typename H::Key* __restrict__ k,
                   const typename H::Value* __restrict__ v, const typename H::Key* __restrict__ k_tail,
                   const typename H::Value* __restrict__ v_tail, const typename H::Mask* __restrict__ mask,
                   typename H::Out* __restrict__ out, float* __restrict__ partial, Epilogue epilogue) {
  wait_for_previous_kernel();
  half_attention_block<H, vectors>(q, k, v, k_tail, v_tail, mask, out, partial, epilogue);
}

// A thread an element: the blocks' sums, each scaled as if all had seen the same largest score.
template <class H, class Epilogue>
__global__ void __launch_bounds__(256)
    combine_attention(const float* __restrict__ partial, typename H::Out* __restrict__ out,
                      Epilogue epilogue) {
  wait_for_previous_kernel();
  using Index = typename H::Index;
  constexpr int64_t whole = int64_t{H::heads} * H::queries;
  const int64_t element = int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (element >= whole * H::value_width) return;
  const int64_t row = element / H::value_width;
  const int i = static_cast<int>(element % H::value_width);
  const auto* rows = reinterpret_cast<const Pack<float, 2>*>(partial + H::splits * whole * H::value_width);
  float most = -INFINITY;
#pragma unroll 8
  for (int s = 0; s < H::splits; ++s) most = fmaxf(most, rows[s * whole + row][0]);
  if (most == -INFINITY) most = 0.0f;
  float sum = 0.0f, total = 0.0f;
#pragma unroll 8
  for (int s = 0; s < H::splits; ++s) {
    const Pack<float, 2> of = rows[s * whole + row];
    const float scale = exp2f(of[0] - most);
    total += of[1] * scale;
    sum += partial[(s * whole + row) * H::value_width + i] * scale;
  }
  if constexpr (H::weights == Weights::relu) total = 1.0f;
  const bool nothing = H::weights != Weights::softmax && total == 0.0f;
  const Index head = static_cast<Index>(row / H::queries), query = static_cast<Index>(row % H::queries);
  out[H::out(head, query, i)] = static_cast<typename H::Out>(
      epilogue(nothing ? 0.0f : sum / total, H::position(head, query, static_cast<Index>(i))));
}

template <class H, class Epilogue>
StitchStatus combine_splits(const char* name, const float* partial, typename H::Out* out, Epilogue epilogue,
                            cudaStream_t stream) {
  if constexpr (H::splits > 1) {
    constexpr int64_t elements = int64_t{H::heads} * H::queries * H::value_width;
    return launch(name, combine_attention<H, Epilogue>, spread(elements, 256), stream, partial, out,
                  epilogue);
  }
  return STITCH_OK;
}

template <class H, class Epilogue>
StitchStatus enqueue_half_attention(const char* name, const typename H::Query* q, const typename H::Key* k,
                                    const typename H::Value* v, const typename H::Mask* mask,
                                    typename H::Out* out, Epilogue epilogue, float* partial,
                                    cudaStream_t stream, const typename H::Key* k_tail = nullptr,
                                    const typename H::Value* v_tail = nullptr) {
  using S = HalfAttention<H>;
  using Blocks = typename S::Block;
  constexpr int64_t blocks = Blocks::blocks;
  static_assert(blocks < (int64_t{1} << 31), "more tiles than a grid has blocks");
  static_assert(H::key_tile % 16 == 0 && H::key_tile <= (S::keeping ? 64 : 128),
                "a tile of keys is 16 to 128");
  static_assert(H::splits == 1 || Blocks::keys_per_split * (H::splits - 1) < H::keys, "a block without keys");
  const Geometry geometry{static_cast<unsigned>(blocks), S::threads, S::shared_bytes};
  auto run = [&]() -> StitchStatus {
    if constexpr (H::runs) {
      auto aligned = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; };
      if (aligned(q) && aligned(k) && aligned(v) && aligned(k_tail) && aligned(v_tail) && aligned(out) &&
          aligned(mask))
        return launch(name, half_attention<H, true, Epilogue>, geometry, stream, q, k, v, k_tail, v_tail,
                      mask, out, partial, epilogue);
    }
    return launch(name, half_attention<H, false, Epilogue>, geometry, stream, q, k, v, k_tail, v_tail, mask,
                  out, partial, epilogue);
  };
  STITCH_OK_OR_RETURN(run());
  return combine_splits<H>(name, partial, out, epilogue, stream);
}

}  // namespace stitch
