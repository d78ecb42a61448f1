// Flash attention on tensor cores at FP32 accuracy. A block holds some queries of one head and walks over the
// keys tile by tile with a running maximum and sum (online softmax); each warp holds 16 · row_tiles queries,
// so that scores become weights in registers. Numbers are split, x = high + low in fp16, and
//   left · right = high · low' + low · high' + high · high', sums in FP32
// Before the split a tile is scaled by the power of two that brings its largest magnitude just below 2^15:
// nothing overflows, and the loss is 2^-22 of an element or 2^-40 of the largest. Softmax weights are scaled
// by 2^15 for the same reason. Numerics classes that allow it use one product of rounded numbers (parts = 1).
// Tiles of keys that a bool mask hides completely are skipped. Besides attention_heads.h:
//     static constexpr int warps, row_tiles, key_tile, parts;
//     static constexpr bool quads;      // 4 elements of a row of q, k, v are contiguous, 16-byte aligned
//     static constexpr bool out_pairs;  // two of the result (attention_heads.h)
//     static constexpr bool mask_runs;  // 16 of a bool mask
// Moves q and the result once, k and v once per block of queries, mostly from L2.
#pragma once

#include "stitch/kernels/attention_heads.h"
#include "stitch/kernels/matmul.h"
#include "stitch/kernels/shared_memory.h"
#include "stitch/kernels/split_pair.h"

namespace stitch {
template <class Heads>
struct TensorCoreAttention {
  using Index = typename Heads::Index;
  static constexpr int threads = Heads::warps * 32, rows = Heads::warps * Heads::row_tiles * 16;
  static constexpr int round_up(int count) { return (count + 15) / 16 * 16; }
  static constexpr int width = round_up(Heads::width), value_width = round_up(Heads::value_width);
  static constexpr int pitch = width + 8, value_pitch = value_width + 8;  // an odd number of 16 bytes
  static constexpr int q_halves = rows * pitch, k_halves = Heads::key_tile * pitch,
                       v_halves = Heads::key_tile * value_pitch;
  static constexpr size_t shared_bytes = shared_memory::tensor_core_attention(
      Heads::width, Heads::value_width, rows, Heads::key_tile, Heads::parts);
  static_assert(shared_bytes == sizeof(__half) * Heads::parts * (q_halves + k_halves + v_halves));
  __host__ __device__ static constexpr Index query_tiles(Heads heads) {
    return (heads.queries + rows - 1) / rows;
  }
};

// The first tile of keys from key0 on with a visible key; `kept`: its mask as bits, by rows. Includes a
// barrier.
template <class Heads, bool vectors, class Index, int rows>
__device__ __forceinline__ Index next_kept_tile(Heads heads, const typename Heads::Mask* __restrict__ mask,
                                                Index head, Index query0, Index key0, Index last_key,
                                                uint64_t (&kept)[rows]) {
  if (Heads::masking == Masking::keeping && key0 < last_key) {
    for (; key0 < last_key; key0 += Heads::key_tile) {
      bool any = false;
      for (int row = static_cast<int>(threadIdx.x); row < rows; row += Heads::warps * 32) {
        const uint64_t bits = query0 + row < heads.queries
                                  ? kept_keys<Heads, vectors>(heads, mask, head, query0 + row, key0)
                                  : 0;
        kept[row] = bits;
        any |= bits != 0;
      }
      if (__syncthreads_or(any)) break;
    }
  } else {
    __syncthreads();
  }
  return key0;
}

// A row of a warp's scores (two of every four numbers from `r2` on) becomes weights in fp16's range. `most`:
// the row's largest score so far; `total`: the sum of its weights, or under ReLU the scale of its sums.
// Returns the factor for sums over earlier keys.
template <class Heads, int key_tiles>
__device__ __forceinline__ float weigh_row(float (&scores)[key_tiles][4], int r2, float largest, float& most,
                                           float& total) {
  constexpr float log2_e = 1.4426950408889634f;
  float rescale;
  if constexpr (Heads::weights != Weights::relu) {
    // All keys masked so far: any finite base will do.
    const float base = largest == -INFINITY ? 0.0f : largest;
    rescale = exp2f((most - base) * log2_e);
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < key_tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[n][r2 + e];
        score = exp2f(fmaf(score - base, log2_e, 15.0f));
        sum += score;
      }
    total = total * rescale + sum;
  } else {
    const float before = half_range_scale(__float_as_uint(most)),
                now = half_range_scale(__float_as_uint(largest));
    rescale = now / before;
    total = now;
#pragma unroll
    for (int n = 0; n < key_tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[n][r2 + e];
        score = score < 0.0f ? 0.0f : score * now;  // keeps NaN
      }
  }
  most = largest;
  return rescale;
}

// sums = sums · rescale + weights · v, from a tile of keys.
template <class Heads, int row_tiles, int key_tiles, int value_tiles>
__device__ __forceinline__ void add_weighted_values(float (&sums)[row_tiles][value_tiles][4],
                                                    const float (&weights)[row_tiles][key_tiles][4],
                                                    const float (&rescale)[row_tiles][2], SplitMatrix v) {
  MmaLeft high[key_tiles / 2][row_tiles], low[key_tiles / 2][row_tiles];
#pragma unroll
  for (int n = 0; n < key_tiles / 2; ++n)
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const float* two = weights[m][2 * n + p / 2] + p % 2 * 2;
        const HalfPairs split = split_halves(two[0], two[1]);
        high[n][m].parts[p] = split.high, low[n][m].parts[p] = split.low;
      }
#pragma unroll
  for (int d = 0; d < value_tiles; d += 2) {
    // Tensor cores truncate when accumulating: a tile's sums start at zero, and sums over tiles are rounded
    // additions.
    float part[row_tiles][2][4] = {};
#pragma unroll
    for (int n = 0; n < key_tiles / 2; ++n) {
      const __half* at = v.high + n * 16 * v.pitch + d * 8;
      MmaRight right_high[2], right_low[2];
      load_right_from_columns(right_high, at, v.pitch);
      if constexpr (Heads::parts == 2) load_right_from_columns(right_low, at + v.low, v.pitch);
#pragma unroll
      for (int m = 0; m < row_tiles; ++m)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          mma_parts<Heads::parts>(part[m][e], high[n][m], low[n][m], right_high[e], right_low[e]);
    }
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int e = 0; e < 2; ++e)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          sums[m][d + e][i] = fmaf(sums[m][d + e][i], rescale[m][i / 2], part[m][e][i]);
  }
}

template <class Heads, bool vectors, class Epilogue>
__global__ void __launch_bounds__(Heads::warps * 32)
    tensor_core_attention(const typename Heads::Query* __restrict__ q,
                          const typename Heads::Key* __restrict__ k,
                          const typename Heads::Value* __restrict__ v,
                          const typename Heads::Mask* __restrict__ mask,
                          typename Heads::Out* __restrict__ out, Epilogue epilogue, Heads heads) {
  wait_for_previous_kernel();
  using Index = typename Heads::Index;
  using Sizes = TensorCoreAttention<Heads>;
  constexpr int row_tiles = Heads::row_tiles, key_tiles = Heads::key_tile / 8,
                value_tiles = Sizes::value_width / 8;
  constexpr bool softmax = Heads::weights != Weights::relu;
  extern __shared__ uint4 attention_shared[];
  __half* q_tile = reinterpret_cast<__half*>(attention_shared);  // (parts, rows, width)
  __half* k_tile = q_tile + Heads::parts * Sizes::q_halves;      // (parts, key tile, width)
  __half* v_tile = k_tile + Heads::parts * Sizes::k_halves;      // (parts, key tile, value width)
  __shared__ unsigned found[2][Heads::warps];  // largest magnitudes of the tiles of k, and of q and v
  __shared__ uint64_t kept[Heads::masking == Masking::keeping ? Sizes::rows : 1];

  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32, group = lane / 4,
            pair = lane % 4, warp_row = warp * row_tiles * 16;
  // The last queries first: if causal they have most work.
  const Index tiles = Sizes::query_tiles(heads), tile = static_cast<Index>(blockIdx.x) % tiles,
              query0 = (tiles - 1 - tile) * Sizes::rows, head = static_cast<Index>(blockIdx.x) / tiles;
  const Index last_key =
      Heads::causal && query0 + Sizes::rows < heads.keys ? query0 + Sizes::rows : heads.keys;

  auto publish = [&](unsigned(&of)[Heads::warps], unsigned most) {
    if (lane == 0) of[warp] = most;
  };
  auto next_kept = [&](Index from) {
    return next_kept_tile<Heads, vectors>(heads, mask, head, query0, from, last_key, kept);
  };

  float q_scale;
  {
    HeldTile<Sizes::threads, Sizes::rows, Sizes::width> held;
    held.template fetch<vectors>(q, heads.queries - query0, Heads::width,
                                 [&](int row, int i) { return heads.q(head, query0 + row, i); });
    publish(found[1], held.largest());
    __syncthreads();
    q_scale = half_range_scale(largest_of(found[1]));
    held.template put<Heads::parts>(q_tile, Sizes::pitch, Sizes::q_halves, q_scale);
  }

  HeldTile<Sizes::threads, Heads::key_tile, Sizes::width> held_k;
  HeldTile<Sizes::threads, Heads::key_tile, Sizes::value_width> held_v;
  auto fetch_k = [&](Index key0) {
    held_k.template fetch<vectors>(k, last_key - key0, Heads::width,
                                   [&](int row, int i) { return heads.k(head, key0 + row, i); });
  };
  float sums[row_tiles][value_tiles][4] = {};
  float most[row_tiles][2], total[row_tiles][2] = {}, rescale[row_tiles][2];
#pragma unroll
  for (int m = 0; m < row_tiles; ++m) most[m][0] = most[m][1] = softmax ? -INFINITY : 0.0f;
  unsigned v_largest = 0;
  float v_scale = 1.0f;

  Index key0 = next_kept(0);
  if (key0 < last_key) fetch_k(key0);
  while (key0 < last_key) {
    publish(found[0], held_k.largest());
    __syncthreads();
    const float k_scale = half_range_scale(largest_of(found[0]));
    held_k.template put<Heads::parts>(k_tile, Sizes::pitch, Sizes::k_halves, k_scale);
    // Prefetched while scores are computed.
    held_v.template fetch<vectors>(v, last_key - key0, Heads::value_width,
                                   [&](int row, int i) { return heads.v(head, key0 + row, i); });
    __syncthreads();

    float scores[row_tiles][key_tiles][4] = {};
#pragma unroll
    for (int d = 0; d < Sizes::width; d += 16)
      multiply_parts<Heads::parts, true>(
          scores, {q_tile + warp_row * Sizes::pitch + d, Sizes::pitch, Sizes::q_halves},
          {k_tile + d, Sizes::pitch, Sizes::k_halves});

    // Scores to weights, scaled to fp16's range.
    const float unit = 1.0f / q_scale / k_scale;
#pragma unroll
    for (int m = 0; m < row_tiles; ++m)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = warp_row + m * 16 + r * 8 + group;
        const Index query = query0 + row < heads.queries ? query0 + row : heads.queries - 1;
        uint64_t bits = 0;
        if constexpr (Heads::masking == Masking::keeping) bits = kept[row] >> (2 * pair);
        float largest = most[m][r];
#pragma unroll
        for (int n = 0; n < key_tiles; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& score = scores[m][n][2 * r + e];
            const Index key = key0 + n * 8 + 2 * pair + e;
            if constexpr (Heads::masking == Masking::keeping) {
              // Masked keys and keys past the end have no bit.
              score =
                  (bits >> (n * 8 + e)) & 1 ? capped_score<Heads>(score * unit * Heads::scale) : -INFINITY;
              if constexpr (Heads::causal) score = key > query ? -INFINITY : score;
            } else {
              const bool inside = heads.keys % Heads::key_tile == 0 || key < heads.keys;
              score = inside ? attention_score(heads, score * unit, mask, head, query, key) : -INFINITY;
            }
            largest = fmaxf(largest, score);
          }
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
        rescale[m][r] = weigh_row<Heads>(scores[m], 2 * r, largest, most[m][r], total[m][r]);
      }

    publish(found[1], held_v.largest());
    __syncthreads();
    // One scale for all tiles of v so far: sums are rescaled when it shrinks.
    v_largest = max(v_largest, largest_of(found[1]));
    const float v_scale_now = half_range_scale(v_largest), shrink = v_scale_now / v_scale;
    v_scale = v_scale_now;
    held_v.template put<Heads::parts>(v_tile, Sizes::value_pitch, Sizes::v_halves, v_scale);
#pragma unroll
    for (int m = 0; m < row_tiles; ++m) rescale[m][0] *= shrink, rescale[m][1] *= shrink;
    key0 = next_kept(key0 + Heads::key_tile);
    if (key0 < last_key) fetch_k(key0);

    add_weighted_values<Heads>(sums, scores, rescale, {v_tile, Sizes::value_pitch, Sizes::v_halves});
  }

#pragma unroll
  for (int m = 0; m < row_tiles; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float all = total[m][r];
      if constexpr (softmax) {
        all += __shfl_xor_sync(0xffffffffu, all, 1);
        all += __shfl_xor_sync(0xffffffffu, all, 2);
      }
      const Index query = query0 + warp_row + m * 16 + r * 8 + group;
      if (query >= heads.queries) continue;
      store_attention_row<Heads, vectors>(heads, sums[m], r, all, 1.0f / v_scale, head, query, 2 * pair, out,
                                          epilogue);
    }
}

template <class Heads, class Epilogue>
StitchStatus enqueue_tensor_core_attention(const char* name, Heads heads, const typename Heads::Query* q,
                                           const typename Heads::Key* k, const typename Heads::Value* v,
                                           const typename Heads::Mask* mask, typename Heads::Out* out,
                                           Epilogue epilogue, cudaStream_t stream) {
  using Sizes = TensorCoreAttention<Heads>;
  static_assert(Heads::key_tile % 16 == 0 && Heads::key_tile <= 64, "a tile of keys is 16 to 64");
  const Geometry geometry{blocks_of(int64_t{Sizes::query_tiles(heads)} * heads.heads), Sizes::threads,
                          Sizes::shared_bytes};
  if constexpr (Heads::quads) {
    auto aligned = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; };
    if (aligned(q) && aligned(k) && aligned(v) && aligned(out) && aligned(mask))
      return launch(name, tensor_core_attention<Heads, true, Epilogue>, geometry, stream, q, k, v, mask, out,
                    epilogue, heads);
  }
  return launch(name, tensor_core_attention<Heads, false, Epilogue>, geometry, stream, q, k, v, mask, out,
                epilogue, heads);
}

}  // namespace stitch
