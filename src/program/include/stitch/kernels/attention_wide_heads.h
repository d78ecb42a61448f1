// Attention with heads of hundreds of features on tensor cores at FP32's accuracy, without scores in memory.
// A block has 64 queries of one head and all of its keys, at most 512:
//   scores (64, keys) = q kᵀ, 16 features at a time, in registers: each of 8 warps has an eighth of the keys
//   weights of whole rows, into shared memory as pairs of fp16
//   result (64, up to 512 columns a pass) = weights · v, 16 keys at a time, each warp an eighth of the
//   columns
// Numbers are split as in attention_tensor_core.h; the scale follows the largest magnitude met so far. While
// one step is multiplied the next is put into the other half of shared memory and the one behind it is
// fetched: a barrier a step. Moves q and the result once, k and v once for every 64 queries, mostly out of
// L2.
#pragma once

#include "stitch/kernels/attention_result.h"
#include "stitch/kernels/matmul.h"
#include "stitch/kernels/shared_memory.h"
#include "stitch/kernels/split_tile.h"

namespace stitch {
template <class H>
struct WideAttention {
  using Index = typename H::Index;
  static constexpr int rows = 64, warps = 8, threads = warps * 32, step = 16, row_tiles = rows / 16;
  static constexpr int share_of(int count) { return ((count + warps - 1) / warps + 15) / 16 * 16; }
  static constexpr int key_share = share_of(H::keys), keys = warps * key_share;
  static constexpr int value_share = share_of(H::value_width) < 64 ? share_of(H::value_width) : 64,
                       columns = warps * value_share;  // of the result, a pass
  // Pitches are odd numbers of 16 bytes.
  static constexpr int pitch = step + 8, q_halves = rows * pitch, k_halves = keys * pitch;
  static constexpr int weight_pitch = keys + 8, weight_halves = rows * weight_pitch;
  static constexpr int v_pitch = columns + 8, v_halves = step * v_pitch;
  static constexpr int first_halves = 2 * H::parts * (q_halves + k_halves),
                       second_halves = H::parts * (weight_halves + 2 * v_halves);
  static constexpr size_t shared_bytes =
      shared_memory::wide_heads_attention(H::keys, H::value_width, H::parts);
  static_assert(shared_bytes ==
                sizeof(__half) * (first_halves > second_halves ? first_halves : second_halves));
  static constexpr Index query_tiles = (H::queries + rows - 1) / rows;
};

// A power of two for everything so far: it changes only when fp16 could overflow, and then with room to
// spare.
struct FollowingScale {
  float scale = 1.0f;
  unsigned limit = 0;  // magnitudes below it need no other scale

  // What sums under the old scale have to be multiplied with.
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

// sums (64 rows, 8 · tiles columns) += left (64, 16) · right (16, columns); `rows_hold_columns`: as k has
// them.
template <int parts, bool rows_hold_columns, int tiles>
__device__ __forceinline__ void multiply_step(float (&sums)[4][tiles][4], const __half* left, int left_pitch,
                                              int left_apart, const __half* right, int right_pitch,
                                              int right_apart) {
  MmaLeft high[4], low[4];
#pragma unroll
  for (int m = 0; m < 4; ++m) {
    high[m] = load_left(left + m * 16 * left_pitch, left_pitch);
    if constexpr (parts == 2) low[m] = load_left(left + left_apart + m * 16 * left_pitch, left_pitch);
  }
#pragma unroll
  for (int n = 0; n < tiles; n += 2) {
    MmaRight right_high[2], right_low[2];
    auto load = [&](MmaRight(&to)[2], const __half* from) {
      if constexpr (rows_hold_columns)
        load_right_from_rows(to, from + n * 8 * right_pitch, right_pitch);
      else
        load_right_from_columns(to, from + n * 8, right_pitch);
    };
    load(right_high, right);
    if constexpr (parts == 2) load(right_low, right + right_apart);
#pragma unroll
    for (int m = 0; m < 4; ++m)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if constexpr (parts == 2) {
          mma(sums[m][n + e], high[m], right_low[e]);
          mma(sums[m][n + e], low[m], right_high[e]);
        }
        mma(sums[m][n + e], high[m], right_high[e]);
      }
  }
}
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

// A number for each row from what the warps have of it; `join` is associative.
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

template <class H, bool vectors, class Epilogue>
__global__ void __launch_bounds__(256, 1)
    wide_heads_attention(const typename H::Query* __restrict__ q, const typename H::Key* __restrict__ k,
                         const typename H::Value* __restrict__ v, const typename H::Mask* __restrict__ mask,
                         typename H::Out* __restrict__ out, Epilogue epilogue) {
  wait_for_previous_kernel();
  using Index = typename H::Index;
  using S = WideAttention<H>;
  constexpr bool softmax = H::weights != Weights::relu;
  constexpr float log2_e = 1.4426950408889634f;
  constexpr int key_tiles = S::key_share / 8, value_tiles = S::value_share / 8;
  extern __shared__ uint4 attention_shared[];
  __half* shared = reinterpret_cast<__half*>(attention_shared);
  __shared__ unsigned found[2][2][S::warps];  // largest magnitudes: even and odd steps, q and k (or v)
  __shared__ float scratch[S::rows][S::warps];

  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32,
            group = lane / 4, pair = lane % 4;
  const Index query0 = static_cast<Index>(blockIdx.x) % S::query_tiles * S::rows,
              head = static_cast<Index>(blockIdx.x) / S::query_tiles;
  auto publish = [&](unsigned(&of)[S::warps], unsigned most) {
    if (lane == 0) of[warp] = most;
  };

  // Scores. Step s: put what was fetched, fetch the next, multiply the one before.
  float scores[S::row_tiles][key_tiles][4] = {};
  float unit;
  {
    HeldTile<S::threads, S::rows, S::step> held_q;
    HeldTile<S::threads, S::keys, S::step> held_k;
    FollowingScale q_scale, k_scale;
    auto fetch = [&](int d0) {
      held_q.template fetch<vectors>(q, H::queries - query0, H::width - d0,
                                     [&](int row, int i) { return H::q(head, query0 + row, d0 + i); });
      held_k.template fetch<vectors>(k, H::keys, H::width - d0,
                                     [&](int row, int i) { return H::k(head, row, d0 + i); });
    };
    auto announce = [&](int parity) {
      publish(found[parity][0], held_q.largest());
      publish(found[parity][1], held_k.largest());
    };
    constexpr int steps = (H::width + S::step - 1) / S::step;
    fetch(0);
    announce(0);
    for (int s = 0; s <= steps; ++s) {
      __syncthreads();
      __half* to = shared + s % 2 * H::parts * (S::q_halves + S::k_halves);
      float factor = 1.0f;
      if (s < steps) {
        factor = q_scale.follow(largest_of(found[s % 2][0])) * k_scale.follow(largest_of(found[s % 2][1]));
        held_q.template put<H::parts>(to, S::pitch, S::q_halves, q_scale.scale);
        held_k.template put<H::parts>(to + H::parts * S::q_halves, S::pitch, S::k_halves, k_scale.scale);
        if (s + 1 < steps) fetch((s + 1) * S::step);
      }
      if (s > 0) {
        const __half* from = shared + (s - 1) % 2 * H::parts * (S::q_halves + S::k_halves);
        multiply_step<H::parts, true>(scores, from, S::pitch, S::q_halves,
                                      from + H::parts * S::q_halves + warp * S::key_share * S::pitch,
                                      S::pitch, S::k_halves);
        rescale_sums(scores, factor);
      }
      if (s + 1 < steps) announce((s + 1) % 2);
    }
    unit = 1.0f / q_scale.scale / k_scale.scale;
  }

  // The first keys of v are on their way while scores become weights.
  HeldTile<S::threads, S::step, S::columns> held_v;
  auto fetch_v = [&](int key0, int column0) {
    held_v.template fetch<vectors>(v, H::keys - key0, H::value_width - column0,
                                   [&](int row, int i) { return H::v(head, key0 + row, column0 + i); });
  };
  fetch_v(0, 0);
  float most[S::row_tiles][2], total[S::row_tiles][2];
#pragma unroll
  for (int m = 0; m < S::row_tiles; ++m)
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const Index row = query0 + m * 16 + r * 8 + group, query = row < H::queries ? row : H::queries - 1;
      float largest = softmax ? -INFINITY : 0.0f;
#pragma unroll
      for (int n = 0; n < key_tiles; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores[m][n][2 * r + e];
          const Index key = warp * S::key_share + n * 8 + 2 * pair + e;
          const bool inside = S::keys == H::keys || key < H::keys;
          score = inside ? attention_score<H>(score * unit, mask, head, query, key) : -INFINITY;
          largest = fmaxf(largest, score);
        }
      most[m][r] = largest;
    }
  join_rows(most, scratch, [](float a, float b) { return fmaxf(a, b); });
#pragma unroll
  for (int m = 0; m < S::row_tiles; ++m)
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
          if constexpr (softmax)
            weight[e] = exp2f(fmaf(score - base, log2_e, 15.0f));
          else
            weight[e] = score < 0.0f ? 0.0f : score * scale;  // NaN stays
          sum += weight[e];
        }
        // Nobody reads the steps of q and k any more: join_rows has barriers.
        __half* to =
            shared + (m * 16 + r * 8 + group) * S::weight_pitch + warp * S::key_share + n * 8 + 2 * pair;
        const uint32_t high = half_pair(weight[0], weight[1]);
        const float2 rounded = float_pair(high);
        *reinterpret_cast<uint32_t*>(to) = high;
        if constexpr (H::parts == 2)
          *reinterpret_cast<uint32_t*>(to + S::weight_halves) =
              half_pair(weight[0] - rounded.x, weight[1] - rounded.y);
      }
      total[m][r] = sum;
    }
  join_rows(total, scratch, [](float a, float b) { return a + b; });
  if constexpr (!softmax) {
#pragma unroll
    for (int m = 0; m < S::row_tiles; ++m)
#pragma unroll
      for (int r = 0; r < 2; ++r) total[m][r] = half_range_scale(__float_as_uint(most[m][r]));
  }

  __half* v_steps = shared + H::parts * S::weight_halves;
  for (int column0 = 0; column0 < H::value_width; column0 += S::columns) {
    float sums[S::row_tiles][value_tiles][4] = {};
    FollowingScale v_scale;
    constexpr int steps = (H::keys + S::step - 1) / S::step;
    if (column0 > 0) fetch_v(0, column0);
    __syncthreads();
    publish(found[0][1], held_v.largest());
    for (int s = 0; s <= steps; ++s) {
      __syncthreads();
      float factor = 1.0f;
      if (s < steps) {
        factor = v_scale.follow(largest_of(found[s % 2][1]));
        held_v.template put<H::parts>(v_steps + s % 2 * H::parts * S::v_halves, S::v_pitch, S::v_halves,
                                      v_scale.scale);
        if (s + 1 < steps) fetch_v((s + 1) * S::step, column0);
      }
      if (s > 0) {
        multiply_step<H::parts, false>(sums, shared + (s - 1) * S::step, S::weight_pitch, S::weight_halves,
                                       v_steps + (s - 1) % 2 * H::parts * S::v_halves + warp * S::value_share,
                                       S::v_pitch, S::v_halves);
        rescale_sums(sums, factor);
      }
      if (s + 1 < steps) publish(found[(s + 1) % 2][1], held_v.largest());
    }
    const float v_unit = 1.0f / v_scale.scale;
#pragma unroll
    for (int m = 0; m < S::row_tiles; ++m)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const Index query = query0 + m * 16 + r * 8 + group;
        if (query >= H::queries) continue;
        store_attention_row<H, vectors>(sums[m], r, total[m][r], v_unit, head, query,
                                        column0 + warp * S::value_share + 2 * pair, out, epilogue);
      }
  }
}

template <class H, class Epilogue>
StitchStatus enqueue_wide_heads_attention(const char* name, const typename H::Query* q,
                                          const typename H::Key* k, const typename H::Value* v,
                                          const typename H::Mask* mask, typename H::Out* out,
                                          Epilogue epilogue, cudaStream_t stream) {
  using S = WideAttention<H>;
  constexpr int64_t blocks = int64_t{S::query_tiles} * H::heads;
  static_assert(blocks < (int64_t{1} << 31), "more tiles than a grid has blocks");
  static_assert(S::key_share <= 64, "a block keeps the scores of at most 512 keys");
  const Geometry geometry{static_cast<unsigned>(blocks), S::threads, S::shared_bytes};
  if constexpr (H::quads) {
    auto aligned = [](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; };
    if (aligned(q) && aligned(k) && aligned(v) && aligned(out))
      return launch(name, wide_heads_attention<H, true, Epilogue>, geometry, stream, q, k, v, mask, out,
                    epilogue);
  }
  return launch(name, wide_heads_attention<H, false, Epilogue>, geometry, stream, q, k, v, mask, out,
                epilogue);
}

}  // namespace stitch
