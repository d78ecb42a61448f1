// Attention with heads of hundreds of features on tensor cores at FP32 accuracy, without scores in memory. A
// block has 64 queries of one head and all its keys, at most 512:
//   scores (64, keys) = q kᵀ, 16 features at a time, in registers: each of 8 warps has an eighth of the keys
//   weights of whole rows, in shared memory as pairs of fp16
//   result (64, up to 512 columns per pass) = weights · v, 16 keys at a time, an eighth of the columns a warp
// Numbers are split as in attention_tensor_core.h; the scale follows the running largest magnitude. Two-stage
// pipeline, one barrier per step. Moves q and the result once, k and v once per 64 queries, mostly from L2.
// Besides attention_heads.h:
//     static constexpr int key_share;  // of a warp's keys, a multiple of 16; 8 of them hold all
#pragma once

#include "stitch/kernels/attention_heads.h"
#include "stitch/kernels/matmul.h"
#include "stitch/kernels/shared_memory.h"
#include "stitch/kernels/split_pair.h"

namespace stitch {
template <class Heads>
struct WideAttention {
  using Index = typename Heads::Index;
  static constexpr int rows = 64, warps = 8, threads = warps * 32, step = 16, row_tiles = rows / 16;
  static constexpr int key_share = Heads::key_share, keys = warps * key_share;  // at most
  static constexpr int value_share_of_all =
                           static_cast<int>(shared_memory::wide_heads_share(Heads::value_width)),
                       value_share = value_share_of_all < 64 ? value_share_of_all : 64,
                       columns = warps * value_share;  // of the result, per pass
  // Pitches are odd multiples of 16 bytes.
  static constexpr int pitch = step + 8, q_halves = rows * pitch, k_halves = keys * pitch;
  static constexpr int weight_pitch = keys + 8, weight_halves = rows * weight_pitch;
  static constexpr int v_pitch = columns + 8, v_halves = step * v_pitch;
  static constexpr int first_halves = 2 * Heads::parts * (q_halves + k_halves),
                       second_halves = Heads::parts * (weight_halves + 2 * v_halves);
  static constexpr size_t shared_bytes =
      shared_memory::wide_heads_attention(keys, Heads::value_width, Heads::parts);
  static_assert(shared_bytes ==
                sizeof(__half) * (first_halves > second_halves ? first_halves : second_halves));
  __host__ __device__ static constexpr Index query_tiles(Heads heads) {
    return (heads.queries + rows - 1) / rows;
  }
};

// A running power of two: it changes only when fp16 could overflow, and then with room to spare.
struct FollowingScale {
  float scale = 1.0f;
  unsigned limit = 0;  // larger magnitudes need another scale

  // The factor for sums under the old scale.
  __device__ __forceinline__ float follow(unsigned magnitude) {
    if (magnitude < limit) return 1.0f;
    const unsigned exponent = magnitude >> 23;
    if (exponent == 0 || exponent == 255) return 1.0f;
    const float before = scale;
    scale = __uint_as_float(min(127 + 11 + 127 - exponent, 254u) << 23);  // to just below 2^12
    limit = min(exponent + 4, 255u) << 23;
    return scale / before;
  }
};

template <int tiles>
__device__ __forceinline__ void rescale_sums(float (&sums)[4][tiles][4], float factor) {
  if (factor == 1.0f) return;
#pragma unroll
  for (int m = 0; m < 4; ++m)
#pragma unroll
    for (int n = 0; n < tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[m][n][i] *= factor;
}

// Reduces each row over the warps; `join` is associative.
template <class Join>
__device__ __forceinline__ void join_rows(float (&values)[4][2], float (*scratch)[8], Join join) {
  const int warp = static_cast<int>(threadIdx.x) / 32, group = static_cast<int>(threadIdx.x) % 32 / 4;
  __syncthreads();
#pragma unroll
  for (int m = 0; m < 4; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float& value = values[m][r];
      value = join(value, __shfl_xor_sync(0xffffffffu, value, 1));
      value = join(value, __shfl_xor_sync(0xffffffffu, value, 2));
      if (threadIdx.x % 4 == 0) scratch[m * 16 + r * 8 + group][warp] = value;
    }
  __syncthreads();
#pragma unroll
  for (int m = 0; m < 4; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float* all = scratch[m * 16 + r * 8 + group];
      float value = all[0];
#pragma unroll
      for (int other = 1; other < 8; ++other) value = join(value, all[other]);
      values[m][r] = value;
    }
}

// A warp's largest magnitude, for all warps of the block.
__device__ __forceinline__ void publish_largest(unsigned (&of_warps)[8], int warp, int lane, unsigned most) {
  if (lane == 0) of_warps[warp] = most;
}

// scores += q · k: a block's queries, and this warp's share of the keys. Step s stores what was fetched,
// fetches the next and multiplies the previous. Returns the scores' unit.
template <class Heads, bool vectors, class Index, int key_tiles>
__device__ __forceinline__ float wide_scores(Heads heads, const typename Heads::Query* __restrict__ q,
                                             const typename Heads::Key* __restrict__ k, Index head,
                                             Index query0, int warp, int lane, __half* shared,
                                             unsigned (&found)[2][2][8], float (&scores)[4][key_tiles][4]) {
  using Sizes = WideAttention<Heads>;
  HeldTile<Sizes::threads, Sizes::rows, Sizes::step> held_q;
  HeldTile<Sizes::threads, Sizes::keys, Sizes::step> held_k;
  FollowingScale q_scale, k_scale;
  auto fetch = [&](int d0) {
    held_q.template fetch<vectors>(q, heads.queries - query0, Heads::width - d0,
                                   [&](int row, int i) { return heads.q(head, query0 + row, d0 + i); });
    held_k.template fetch<vectors>(k, heads.keys, Heads::width - d0,
                                   [&](int row, int i) { return heads.k(head, row, d0 + i); });
  };
  auto announce = [&](int parity) {
    publish_largest(found[parity][0], warp, lane, held_q.largest());
    publish_largest(found[parity][1], warp, lane, held_k.largest());
  };
  constexpr int steps = (Heads::width + Sizes::step - 1) / Sizes::step;
  fetch(0);
  announce(0);
  for (int s = 0; s <= steps; ++s) {
    __syncthreads();
    __half* to = shared + s % 2 * Heads::parts * (Sizes::q_halves + Sizes::k_halves);
    float factor = 1.0f;
    if (s < steps) {
      factor = q_scale.follow(largest_of(found[s % 2][0])) * k_scale.follow(largest_of(found[s % 2][1]));
      held_q.template put<Heads::parts>(to, Sizes::pitch, Sizes::q_halves, q_scale.scale);
      held_k.template put<Heads::parts>(to + Heads::parts * Sizes::q_halves, Sizes::pitch, Sizes::k_halves,
                                        k_scale.scale);
      if (s + 1 < steps) fetch((s + 1) * Sizes::step);
    }
    if (s > 0) {
      const __half* from = shared + (s - 1) % 2 * Heads::parts * (Sizes::q_halves + Sizes::k_halves);
      multiply_parts<Heads::parts, true>(
          scores, {from, Sizes::pitch, Sizes::q_halves},
          {from + Heads::parts * Sizes::q_halves + warp * Sizes::key_share * Sizes::pitch, Sizes::pitch,
           Sizes::k_halves});
      rescale_sums(scores, factor);
    }
    if (s + 1 < steps) announce((s + 1) % 2);
  }
  return 1.0f / q_scale.scale / k_scale.scale;
}

// Scores become weights, in shared memory as pairs of fp16; `total`: this warp's sums of them.
template <class Heads, int key_tiles>
__device__ __forceinline__ void store_wide_weights(const float (&scores)[4][key_tiles][4],
                                                   const float (&most)[4][2], float (&total)[4][2],
                                                   __half* shared, int warp, int group, int pair) {
  using Sizes = WideAttention<Heads>;
  constexpr float log2_e = 1.4426950408889634f;
#pragma unroll
  for (int m = 0; m < Sizes::row_tiles; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float base = most[m][r] == -INFINITY ? 0.0f : most[m][r];
      const float scale = half_range_scale(__float_as_uint(most[m][r]));
      float sum = 0.0f;
#pragma unroll
      for (int n = 0; n < key_tiles; ++n) {
        float weight[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const float score = scores[m][n][2 * r + e];
          if constexpr (Heads::weights != Weights::relu)
            weight[e] = exp2f(fmaf(score - base, log2_e, 15.0f));
          else
            weight[e] = score < 0.0f ? 0.0f : score * scale;  // keeps NaN
          sum += weight[e];
        }
        // join_rows has barriers, so the steps of q and k are no longer read.
        __half* to = shared + (m * 16 + r * 8 + group) * Sizes::weight_pitch + warp * Sizes::key_share +
                     n * 8 + 2 * pair;
        const HalfPairs two = split_halves(weight[0], weight[1]);
        *reinterpret_cast<uint32_t*>(to) = two.high;
        if constexpr (Heads::parts == 2) *reinterpret_cast<uint32_t*>(to + Sizes::weight_halves) = two.low;
      }
      total[m][r] = sum;
    }
}

template <class Heads, bool vectors, class Epilogue>
__global__ void __launch_bounds__(256, 1)
    wide_heads_attention(const typename Heads::Query* __restrict__ q,
                         const typename Heads::Key* __restrict__ k,
                         const typename Heads::Value* __restrict__ v,
                         const typename Heads::Mask* __restrict__ mask, typename Heads::Out* __restrict__ out,
                         Epilogue epilogue, Heads heads) {
  wait_for_previous_kernel();
  using Index = typename Heads::Index;
  using Sizes = WideAttention<Heads>;
  constexpr bool softmax = Heads::weights != Weights::relu;
  constexpr int key_tiles = Sizes::key_share / 8, value_tiles = Sizes::value_share / 8;
  extern __shared__ uint4 attention_shared[];
  __half* shared = reinterpret_cast<__half*>(attention_shared);
  __shared__ unsigned found[2][2][Sizes::warps];  // largest magnitudes: even and odd steps, q and k (or v)
  __shared__ float scratch[Sizes::rows][Sizes::warps];

  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32,
            group = lane / 4, pair = lane % 4;
  const Index tiles = Sizes::query_tiles(heads),
              query0 = static_cast<Index>(blockIdx.x) % tiles * Sizes::rows,
              head = static_cast<Index>(blockIdx.x) / tiles;
  float scores[Sizes::row_tiles][key_tiles][4] = {};
  const float unit =
      wide_scores<Heads, vectors>(heads, q, k, head, query0, warp, lane, shared, found, scores);

  // Prefetch the first keys of v while scores become weights.
  HeldTile<Sizes::threads, Sizes::step, Sizes::columns> held_v;
  auto fetch_v = [&](int key0, int column0) {
    held_v.template fetch<vectors>(v, heads.keys - key0, Heads::value_width - column0,
                                   [&](int row, int i) { return heads.v(head, key0 + row, column0 + i); });
  };
  fetch_v(0, 0);
  float most[Sizes::row_tiles][2], total[Sizes::row_tiles][2];
#pragma unroll
  for (int m = 0; m < Sizes::row_tiles; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const Index row = query0 + m * 16 + r * 8 + group,
                  query = row < heads.queries ? row : heads.queries - 1;
      float largest = softmax ? -INFINITY : 0.0f;
#pragma unroll
      for (int n = 0; n < key_tiles; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores[m][n][2 * r + e];
          const Index key = warp * Sizes::key_share + n * 8 + 2 * pair + e;
          const bool inside = Sizes::keys == heads.keys || key < heads.keys;
          score = inside ? attention_score(heads, score * unit, mask, head, query, key) : -INFINITY;
          largest = fmaxf(largest, score);
        }
      most[m][r] = largest;
    }
  join_rows(most, scratch, [](float a, float b) { return fmaxf(a, b); });
  store_wide_weights<Heads>(scores, most, total, shared, warp, group, pair);
  join_rows(total, scratch, [](float a, float b) { return a + b; });
  if constexpr (!softmax) {
#pragma unroll
    for (int m = 0; m < Sizes::row_tiles; ++m)
#pragma unroll
      for (int r = 0; r < 2; ++r) total[m][r] = half_range_scale(__float_as_uint(most[m][r]));
  }

  __half* v_steps = shared + Heads::parts * Sizes::weight_halves;
  for (int column0 = 0; column0 < Heads::value_width; column0 += Sizes::columns) {
    float sums[Sizes::row_tiles][value_tiles][4] = {};
    FollowingScale v_scale;
    const int steps = (static_cast<int>(heads.keys) + Sizes::step - 1) / Sizes::step;
    if (column0 > 0) fetch_v(0, column0);
    __syncthreads();
    publish_largest(found[0][1], warp, lane, held_v.largest());
    for (int s = 0; s <= steps; ++s) {
      __syncthreads();
      float factor = 1.0f;
      if (s < steps) {
        factor = v_scale.follow(largest_of(found[s % 2][1]));
        held_v.template put<Heads::parts>(v_steps + s % 2 * Heads::parts * Sizes::v_halves, Sizes::v_pitch,
                                          Sizes::v_halves, v_scale.scale);
        if (s + 1 < steps) fetch_v((s + 1) * Sizes::step, column0);
      }
      if (s > 0) {
        multiply_parts<Heads::parts, false>(
            sums, {shared + (s - 1) * Sizes::step, Sizes::weight_pitch, Sizes::weight_halves},
            {v_steps + (s - 1) % 2 * Heads::parts * Sizes::v_halves + warp * Sizes::value_share,
             Sizes::v_pitch, Sizes::v_halves});
        rescale_sums(sums, factor);
      }
      if (s + 1 < steps) publish_largest(found[(s + 1) % 2][1], warp, lane, held_v.largest());
    }
    const float v_unit = 1.0f / v_scale.scale;
#pragma unroll
    for (int m = 0; m < Sizes::row_tiles; ++m)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const Index query = query0 + m * 16 + r * 8 + group;
        if (query >= heads.queries) continue;
        store_attention_row<Heads, vectors>(heads, sums[m], r, total[m][r], v_unit, head, query,
                                            column0 + warp * Sizes::value_share + 2 * pair, out, epilogue);
      }
  }
}

template <class Heads, class Epilogue>
StitchStatus enqueue_wide_heads_attention(const char* name, Heads heads, const typename Heads::Query* q,
                                          const typename Heads::Key* k, const typename Heads::Value* v,
                                          const typename Heads::Mask* mask, typename Heads::Out* out,
                                          Epilogue epilogue, cudaStream_t stream) {
  using Sizes = WideAttention<Heads>;
  static_assert(Sizes::key_share <= 64, "a block keeps the scores of at most 512 keys");
  const Geometry geometry{blocks_of(int64_t{Sizes::query_tiles(heads)} * heads.heads), Sizes::threads,
                          Sizes::shared_bytes};
  if constexpr (Heads::quads) {
    auto aligned = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; };
    if (aligned(q) && aligned(k) && aligned(v) && aligned(out))
      return launch(name, wide_heads_attention<Heads, true, Epilogue>, geometry, stream, q, k, v, mask, out,
                    epilogue, heads);
  }
  return launch(name, wide_heads_attention<Heads, false, Epilogue>, geometry, stream, q, k, v, mask, out,
                epilogue, heads);
}

}  // namespace stitch
