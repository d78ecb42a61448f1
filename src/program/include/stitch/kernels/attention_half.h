// Attention of fp16 or bf16 tensors, one product a tile on tensor cores, sums and softmax in FP32, scores
// never in memory. A block keeps `rows` queries of one head of k and v and walks over the keys, a tile at a
// time, with a running maximum and sum (online softmax); each warp has 16 · row_tiles rows to itself, so
// scores become weights in the registers where they are. Tiles of k and v arrive while the other is
// multiplied (cp.async). `group` heads of q that share a head of k count as rows of one block: with few
// queries, as in a step of decoding, k and v are read once for all of them. There, `splits` blocks share the
// keys, and a second pass combines what they leave in the workspace. Tiles of keys that a bool mask drops
// altogether are skipped. Besides what attention_heads.h asks for:
//     static constexpr int warps, row_tiles, key_tile, group, splits;
//     static constexpr bool runs;       // eight neighbours in a row of q, k, v lie side by side, at 16 bytes
//     static constexpr bool out_pairs;  // two of the result (attention_result.h)
//     static constexpr bool mask_runs;  // 16 of a bool mask
// Moves q and the result once, k and v once for every block of queries, mostly out of L2.
#pragma once

#include <type_traits>

#include "stitch/kernels/attention_mask.h"
#include "stitch/kernels/attention_result.h"
#include "stitch/kernels/matmul.h"
#include "stitch/kernels/shared_memory.h"
#include "stitch/runtime/async_copy.h"
#include "stitch/runtime/mma.h"

namespace stitch {
template <class H>
struct HalfAttention {
  using Index = typename H::Index;
  using Number = typename H::Key;
  static constexpr bool is_bfloat = std::is_same_v<Number, __nv_bfloat16>;
  static constexpr int threads = H::warps * 32, rows = H::warps * H::row_tiles * 16;
  static constexpr int round_up(int count) { return (count + 15) / 16 * 16; }
  static constexpr int width = round_up(H::width), value_width = round_up(H::value_width);
  static constexpr int pitch = width + 8, value_pitch = value_width + 8;  // an odd number of 16 bytes
  static constexpr size_t shared_bytes =
      shared_memory::half_attention(H::width, H::value_width, rows, H::key_tile);
  static constexpr Index all_rows = H::group * H::queries;  // of a head of k and v
  // Registers for q, where they suffice.
  static constexpr bool holds_q = H::row_tiles * (width / 4 + value_width / 2 + H::key_tile / 2) <= 160;

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

// The largest score times a positive factor is the largest product: one multiplication saved.
template <class H>
struct HalfScale {
  static constexpr bool late =
      H::weights != Weights::relu && H::masking != Masking::adding && H::scale > 0.0f;
  static constexpr float log2_e = 1.4426950408889634f, factor = late ? H::scale * log2_e : log2_e;
};

__device__ __forceinline__ float power_of_two(float exponent) {
#if STITCH_EMULATED
  return exp2f(exponent);
#else
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  return power;
#endif
}

// Rows [0, count) of `width` numbers into shared memory; zeros behind them, and beside them up to a multiple
// of 16. `at`: where a row's element i lies. They are there after wait_for_copies and a barrier.
template <int threads, int tile_rows, int width, bool vectors, class Number, class At>
__device__ __forceinline__ void fetch_rows(__half* to, const Number* __restrict__ from, int64_t count,
                                           At at) {
  constexpr int wide = (width + 15) / 16 * 16, pitch = wide + 8;
  if constexpr (vectors) {
    constexpr int each = wide / 8;
#pragma unroll
    for (int i = threadIdx.x; i < tile_rows * each; i += threads) {
      const int row = i / each, column = i % each * 8;
      const bool there = row < count && (width == wide || column < width);
      copy_16_bytes(to + row * pitch + column, there ? from + at(row, column) : from, there);
    }
  } else {
    for (int i = threadIdx.x; i < tile_rows * wide; i += threads) {
      const int row = i / wide, column = i % wide;
      const bool there = row < count && column < width;
      const Number number = there ? from[at(row, column)] : static_cast<Number>(0.0f);
      to[row * pitch + column] = *reinterpret_cast<const __half*>(&number);
    }
  }
}

// Which queries and keys are this block's.
template <class H, int rows, int threads>
struct HalfBlock {
  using Index = typename H::Index;
  static constexpr Index all_rows = H::group * H::queries;  // of a head of k and v
  static constexpr Index tiles = (all_rows + rows - 1) / rows, heads = H::heads / H::group;
  static constexpr Index key_tiles = (H::keys + H::key_tile - 1) / H::key_tile,
                         keys_per_split = (key_tiles + H::splits - 1) / H::splits * H::key_tile;
  static constexpr int64_t blocks = int64_t{tiles} * heads * H::splits;
  Index row0, head0, split, first_key, last_key;

  // The last queries of all heads first where attention is causal: they have most to do.
  __device__ __forceinline__ HalfBlock() {
    const Index number = static_cast<Index>(blockIdx.x);
    const Index tile = H::causal ? number / heads % tiles : number % tiles;
    row0 = (tiles - 1 - tile) * rows;
    head0 = (H::causal ? number % heads : number / tiles % heads) * H::group;
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
  // The first tile from key0 on in which some query keeps something, and what it keeps. A barrier, too.
  template <bool vectors, int kept_rows>
  __device__ __forceinline__ Index next_kept(uint64_t (&kept)[2][kept_rows],
                                             const typename H::Mask* __restrict__ mask, Index key0,
                                             int parity) const {
    if constexpr (H::masking == Masking::keeping) {
      if (key0 >= last_key) {
        __syncthreads();
        return key0;
      }
      for (; key0 < last_key; key0 += H::key_tile) {
        bool any = false;
        if constexpr (vectors && H::mask_runs) {
          for (int row = static_cast<int>(threadIdx.x); row < rows; row += threads) {
            const uint64_t bits =
                row0 + row < all_rows ? kept_keys<H, true>(mask, head_of(row), query_of(row), key0) : 0;
            kept[parity][row % kept_rows] = bits;
            any |= bits != 0;
          }
        } else {
          // A warp a row, a lane a key.
          const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 4
          for (int row = static_cast<int>(threadIdx.x) / 32; row < rows; row += threads / 32) {
            uint64_t bits = 0;
#pragma unroll
            for (int i = 0; i < H::key_tile; i += 32) {
              const Index key = key0 + i + lane;
              const bool keeps = row0 + row < all_rows && i + lane < H::key_tile && key < H::keys &&
                                 mask[H::mask(head_of(row), query_of(row), key)];
              bits |= uint64_t{__ballot_sync(0xffffffffu, keeps)} << i;
            }
            if (lane == 0) kept[parity][row % kept_rows] = bits;
            any |= bits != 0;
          }
        }
        if (__syncthreads_or(any)) break;
      }
    } else {
      __syncthreads();
    }
    return key0;
  }
};

// A row of a tile's scores become weights, and the sums so far are scaled to the largest score from now on. A
// lane has two neighbours of each 8 keys, as mma leaves them, of two rows; `r` says which. `bits`: the kept
// keys from this lane's first on; `past`: some keys may stand behind the query in a causal attention.
template <class H, int key_tiles, int value_tiles>
__device__ __forceinline__ void weigh_scores(float (&scores)[key_tiles][4], float (&sums)[value_tiles][4],
                                             int r, float& most, float& total, uint64_t bits,
                                             const typename H::Mask* __restrict__ mask,
                                             typename H::Index head, typename H::Index query,
                                             typename H::Index key0, bool past) {
  using Index = typename H::Index;
  using Scale = HalfScale<H>;
  const int pair = static_cast<int>(threadIdx.x) % 4;
  if constexpr (H::masking != Masking::none || !Scale::late) {
#pragma unroll
    for (int n = 0; n < key_tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[n][2 * r + e];
        const Index key = key0 + n * 8 + 2 * pair + e;
        if constexpr (!Scale::late) score *= H::scale;
        if constexpr (H::masking == Masking::keeping) score = (bits >> (n * 8 + e)) & 1 ? score : -INFINITY;
        if constexpr (H::masking == Masking::adding)
          if (H::keys % H::key_tile == 0 || key < H::keys)
            score += static_cast<float>(mask[H::mask(head, query, key)]);
      }
  }
  if (past || (H::keys % H::key_tile != 0 && key0 + H::key_tile > H::keys)) {
#pragma unroll
    for (int n = 0; n < key_tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const Index key = key0 + n * 8 + 2 * pair + e;
        if ((H::causal && key > query) || key >= H::keys) scores[n][2 * r + e] = -INFINITY;
      }
  }
  if constexpr (H::weights == Weights::relu) {
#pragma unroll
    for (int n = 0; n < key_tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[n][2 * r + e];
        score = score < 0.0f ? 0.0f : score;  // NaN stays
      }
    return;
  }
  float largest = most;
#pragma unroll
  for (int n = 0; n < key_tiles; ++n)
#pragma unroll
    for (int e = 0; e < 2; ++e) largest = fmaxf(largest, scores[n][2 * r + e]);
  largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
  largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
  // Nothing but masked keys so far: anything finite will do.
  const float base = largest == -INFINITY ? 0.0f : largest * Scale::factor;
  const float rescale = power_of_two(fmaf(most, Scale::factor, -base));
  float sum = 0.0f;
#pragma unroll
  for (int n = 0; n < key_tiles; ++n)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& score = scores[n][2 * r + e];
      score = power_of_two(fmaf(score, Scale::factor, -base));
      sum += score;
    }
  total = fmaf(total, rescale, sum);
  most = largest;
#pragma unroll
  for (int n = 0; n < value_tiles; ++n)
#pragma unroll
    for (int e = 0; e < 2; ++e) sums[n][2 * r + e] *= rescale;
}

// A row of the result, or of what the second pass combines. All lanes of a row come here, there or not.
template <class H, bool vectors, int value_tiles, class Epilogue>
__device__ __forceinline__ void store_half_row(const float (&sums)[value_tiles][4], int r, float most,
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
    // The largest score in powers of two, and the sum of weights.
    float* row_of = partial + H::splits * whole * H::value_width + 2 * at;
    if (pair == 0) row_of[0] = softmax ? most * HalfScale<H>::factor : 0.0f, row_of[1] = total;
  }
}

template <class H, bool vectors, class Epilogue>
__device__ __forceinline__ void half_attention_block(const typename H::Query* __restrict__ q,
                                                     const typename H::Key* __restrict__ k,
                                                     const typename H::Value* __restrict__ v,
                                                     const typename H::Mask* __restrict__ mask,
                                                     typename H::Out* __restrict__ out,
                                                     float* __restrict__ partial, Epilogue& epilogue) {
  using Index = typename H::Index;
  using S = HalfAttention<H>;
  constexpr int row_tiles = H::row_tiles, key_tiles = H::key_tile / 8, value_tiles = S::value_width / 8,
                depth_tiles = S::width / 16;
  constexpr bool keeping = H::masking == Masking::keeping;
  extern __shared__ uint4 attention_shared[];
  __half* q_tile = reinterpret_cast<__half*>(attention_shared);  // (rows, width)
  __half* k_tile = q_tile + S::rows * S::pitch;                  // (key tile, width)
  __half* v_tile = k_tile + H::key_tile * S::pitch;              // (key tile, value width)
  __shared__ uint64_t kept[2][keeping ? S::rows : 1];

  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32, group = lane / 4,
            pair = lane % 4, warp_row = warp * row_tiles * 16;
  const HalfBlock<H, S::rows, S::threads> block;
  const Index row0 = block.row0, last_key = block.last_key;
  auto fetch_k = [&](Index key0) {
    fetch_rows<S::threads, H::key_tile, H::width, vectors>(
        k_tile, k, last_key - key0, [&](int row, int i) { return H::k(block.head0, key0 + row, i); });
    close_copies();
  };
  auto fetch_v = [&](Index key0) {
    fetch_rows<S::threads, H::key_tile, H::value_width, vectors>(
        v_tile, v, last_key - key0, [&](int row, int i) { return H::v(block.head0, key0 + row, i); });
    close_copies();
  };
  MmaLeft held_q[S::holds_q ? row_tiles : 1][S::holds_q ? depth_tiles : 1];
  float sums[row_tiles][value_tiles][4] = {};
  float most[row_tiles][2], total[row_tiles][2] = {};
#pragma unroll
  for (int m = 0; m < row_tiles; ++m) most[m][0] = most[m][1] = -INFINITY;

  int parity = 0;
  Index key0 = block.template next_kept<vectors>(kept, mask, block.first_key, parity);
  fetch_rows<S::threads, S::rows, H::width, vectors>(q_tile, q, S::all_rows - row0, [&](int row, int i) {
    return H::q(block.head_of(row), block.query_of(row), i);
  });
  if (key0 < last_key) fetch_k(key0);
  if constexpr (S::holds_q) {
    close_copies();
    wait_for_copies<0>();
    __syncthreads();
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int d = 0; d < depth_tiles; ++d)
        held_q[m][d] = load_left(q_tile + (warp_row + m * 16) * S::pitch + d * 16, S::pitch);
  }
  while (key0 < last_key) {
    wait_for_copies<0>();
    __syncthreads();
    fetch_v(key0);

    float scores[row_tiles][key_tiles][4] = {};
#pragma unroll
    for (int d = 0; d < depth_tiles; ++d) {
      MmaLeft left[row_tiles];
#pragma unroll
      for (int m = 0; m < row_tiles; ++m) {
        if constexpr (S::holds_q)
          left[m] = held_q[m][d];
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
    wait_for_copies<0>();
    const Index next = block.template next_kept<vectors>(kept, mask, key0 + H::key_tile, 1 - parity);
    if (next < last_key) fetch_k(next);

#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = warp_row + m * 16 + r * 8 + group;
        const bool there = row0 + row < S::all_rows;
        const bool past = H::causal && (H::group > 1 || key0 + H::key_tile > row0 + warp_row);
        weigh_scores<H>(
            scores[m], sums[m], r, most[m][r], total[m][r], keeping ? kept[parity][row] >> (2 * pair) : 0,
            mask, there ? block.head_of(row) : block.head0, there ? block.query_of(row) : 0, key0, past);
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
      for (int d = 0; d < value_tiles; d += 2) {
        MmaRight right[2];
        load_right_from_columns(right, v_tile + n * 16 * S::value_pitch + d * 8, S::value_pitch);
#pragma unroll
        for (int m = 0; m < row_tiles; ++m)
#pragma unroll
          for (int e = 0; e < 2; ++e) S::multiply(sums[m][d + e], left[m], right[e]);
      }
    }
    key0 = next;
    parity = 1 - parity;
  }

#pragma unroll
  for (int m = 0; m < row_tiles; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = warp_row + m * 16 + r * 8 + group;
      store_half_row<H, vectors>(sums[m], r, most[m][r], total[m][r], row0 + row < S::all_rows,
                                 block.head_of(row), block.query_of(row), block.split, out, partial,
                                 epilogue);
    }
}

template <class H, bool vectors, class Epilogue>
__global__ void __launch_bounds__(H::warps * 32)
    half_attention(const typename H::Query* __restrict__ q, const typename H::Key* __restrict__ k,
                   const typename H::Value* __restrict__ v, const typename H::Mask* __restrict__ mask,
                   typename H::Out* __restrict__ out, float* __restrict__ partial, Epilogue epilogue) {
  half_attention_block<H, vectors>(q, k, v, mask, out, partial, epilogue);
}

// A thread an element: the blocks' sums, each scaled as if all had seen the same largest score.
template <class H, class Epilogue>
__global__ void __launch_bounds__(256)
    combine_attention(const float* __restrict__ partial, typename H::Out* __restrict__ out,
                      Epilogue epilogue) {
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
                                    cudaStream_t stream) {
  using S = HalfAttention<H>;
  using Blocks = HalfBlock<H, S::rows, S::threads>;
  constexpr int64_t blocks = Blocks::blocks;
  static_assert(blocks < (int64_t{1} << 31), "more tiles than a grid has blocks");
  static_assert(H::key_tile % 16 == 0 && H::key_tile <= 64, "a tile of keys is 16 to 64");
  static_assert(H::splits == 1 || Blocks::keys_per_split * (H::splits - 1) < H::keys, "a block without keys");
  const Geometry geometry{static_cast<unsigned>(blocks), S::threads, S::shared_bytes};
  auto run = [&]() -> StitchStatus {
    if constexpr (H::runs) {
      auto aligned = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; };
      if (aligned(q) && aligned(k) && aligned(v) && aligned(out) && aligned(mask))
        return launch(name, half_attention<H, true, Epilogue>, geometry, stream, q, k, v, mask, out, partial,
                      epilogue);
    }
    return launch(name, half_attention<H, false, Epilogue>, geometry, stream, q, k, v, mask, out, partial,
                  epilogue);
  };
  STITCH_OK_OR_RETURN(run());
  return combine_splits<H>(name, partial, out, epilogue, stream);
}

}  // namespace stitch
