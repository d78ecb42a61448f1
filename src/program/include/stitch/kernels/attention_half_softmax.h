// Turns scores into weights in the registers of the mma accumulators, for attention_half.h. A lane holds two
// adjacent keys of each 8, for two rows. A running base is used instead of the maximum: it changes only when
// a score exceeds it by more than 2⁸ (in weights), so sums are rarely rescaled and no weight overflows fp16.
// Weights, their total and their sums share the base, so the result doesn't depend on it.
#pragma once

#include <cfloat>

#include "stitch/kernels/attention_heads.h"

namespace stitch {
__device__ __forceinline__ float power_of_two(float exponent) {
#if STITCH_EMULATED
  return exp2f(exponent);
#else
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  return power;
#endif
}

// 1 - 2 / (1 + e²ˣ), to 2e-7: tanhf takes five times as long, and tanh.approx has an error of 5e-4.
__device__ __forceinline__ float tanh_by_powers(float x) {
  return 1.0f - __fdividef(2.0f, 1.0f + power_of_two(x * 2.8853900817779268f));
}

// For a positive factor, max(score) · factor = max(score · factor): saves a multiplication.
template <class Heads>
struct HalfScale {
  static constexpr bool late = Heads::weights != Weights::relu && Heads::masking != Masking::adding &&
                               Heads::scale > 0.0f && Heads::soft_cap == 0.0f;
  static constexpr float log2_e = 1.4426950408889634f, factor = late ? Heads::scale * log2_e : log2_e;
  // Added masks may be as low as -FLT_MAX, which the factor would make infinite: there the difference is
  // taken first; otherwise one fused multiply-add does both.
  static constexpr bool difference_first = Heads::masking == Masking::adding;
  static constexpr float lowest = difference_first ? -FLT_MAX : -1e30f;  // below every score
  static constexpr float most_ahead = difference_first ? 8.0f / log2_e : 8.0f;

  // The base for a score, and a score's weight.
  static __device__ __forceinline__ float base_of(float score) {
    return difference_first ? score : score * factor;
  }
  static __device__ __forceinline__ float weight(float score, float base) {
    return power_of_two(difference_first ? (score - base) * factor : fmaf(score, factor, -base));
  }
  static __device__ __forceinline__ float ratio(float base, float next) {
    return power_of_two(difference_first ? (base - next) * factor : base - next);
  }
  // As a power of two.
  static __device__ __forceinline__ float exponent(float base) {
    return difference_first ? fmaxf(base * factor, -FLT_MAX) : base;
  }
};

// Masks and scales the scores of a tile of `count` keys for row r, from this lane's first key on. `bits`:
// visible keys; `past`: the first key that causality hides; `bounded`: it may be in this tile.
template <class Heads, int count, int key_tiles>
__device__ __forceinline__ void mask_scores(float (&scores)[key_tiles][4], int r, uint64_t bits,
                                            bool all_kept,
                                            const Pack<typename Heads::Mask, 2> (&added)[key_tiles][2],
                                            int past, bool bounded) {
  using Scale = HalfScale<Heads>;
  if constexpr (!Scale::late) {
#pragma unroll
    for (int n = 0; n < key_tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[n][2 * r + e];
        if constexpr (Heads::soft_cap != 0.0f) {
          score = Heads::soft_cap * tanh_by_powers(score * (Heads::scale / Heads::soft_cap));
          if constexpr (Heads::masking == Masking::adding) score += static_cast<float>(added[n][r][e]);
        } else if constexpr (Heads::masking == Masking::adding) {
          score = fmaf(score, Heads::scale, static_cast<float>(added[n][r][e]));
        } else {
          score *= Heads::scale;
        }
      }
  }
  if (Heads::masking == Masking::keeping && !all_kept) {
#pragma unroll
    for (int n = 0; n < key_tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (!((bits >> (n * 8 + e)) & 1)) scores[n][2 * r + e] = -INFINITY;
  }
  if constexpr (count % 16 != 0 && Heads::masking != Masking::keeping) {
    const int pair = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int n = count / 8; n < key_tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (n * 8 + 2 * pair + e >= count) scores[n][2 * r + e] = -INFINITY;
  }
  if (bounded) {
#pragma unroll
    for (int n = 0; n < key_tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (n * 8 + e >= past) scores[n][2 * r + e] = -INFINITY;
  }
}

// Both rows at once, so that the warp decides once whether to rescale.
template <class Heads, int key_tiles, int value_tiles>
__device__ __forceinline__ void weigh_scores(float (&scores)[key_tiles][4], float (&sums)[value_tiles][4],
                                             float (&base)[2], float (&total)[2]) {
  using Scale = HalfScale<Heads>;
  if constexpr (Heads::weights == Weights::relu) {
#pragma unroll
    for (int n = 0; n < key_tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[n][i] = scores[n][i] < 0.0f ? 0.0f : scores[n][i];  // keeps NaN
    return;
  }
  float largest[2];
  bool ahead = false;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    largest[r] = fmaxf(scores[0][2 * r], scores[0][2 * r + 1]);
#pragma unroll
    for (int n = 1; n < key_tiles; ++n)
      largest[r] = fmaxf(largest[r], fmaxf(scores[n][2 * r], scores[n][2 * r + 1]));
    largest[r] = fmaxf(largest[r], __shfl_xor_sync(0xffffffffu, largest[r], 1));
    largest[r] = fmaxf(largest[r], __shfl_xor_sync(0xffffffffu, largest[r], 2));
    largest[r] = Scale::base_of(largest[r]);
    ahead |= largest[r] > base[r] + Scale::most_ahead;
  }
  if (__any_sync(0xffffffffu, ahead)) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float next = fmaxf(base[r], largest[r]), ratio = Scale::ratio(base[r], next);
      base[r] = next;
      total[r] *= ratio;
#pragma unroll
      for (int n = 0; n < value_tiles; ++n)
#pragma unroll
        for (int e = 0; e < 2; ++e) sums[n][2 * r + e] *= ratio;
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < key_tiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores[n][2 * r + e];
        score = Scale::weight(score, base[r]);
        sum += score;
      }
    total[r] += sum;
  }
}

}  // namespace stitch
