// Shared by the flash attention kernels. Operands are described by a struct, as in matmul.h, passed by value:
// what depends on the number of heads, queries and keys is read from the object, so that a program for a
// range of sizes has it as ordinary members (`static` here is what programs of one size have); all else is
// known at compile time.
//   struct Heads {
//     using Query = float; using Key = float; using Value = float; using Mask = float; using Out = float;
//     using Index = int;
//     static constexpr Index heads, queries, keys;
//     static constexpr int width, value_width;
//     static constexpr float scale, soft_cap;  // 0: scores are not capped
//     static constexpr bool causal;
//     static constexpr stitch::Weights weights;
//     static constexpr stitch::Masking masking;
//     // Also k, v, out, and position in the result.
//     __device__ static Index q(Index head, Index query, Index i);
//     __device__ static Index mask(Index head, Index query, Index key);
//   };
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "stitch/runtime/launch.h"
#include "stitch/runtime/vectors.h"

namespace stitch {
// How scores become weights. A fully masked row is NaN under softmax, zero under safe_softmax.
enum class Weights : uint8_t { softmax, safe_softmax, relu };
// keeping: a bool per score, false hides it. adding: a number is added to each score.
enum class Masking : uint8_t { none, keeping, adding };

// Soft cap: cap · tanh(score / cap).
template <class Heads>
__device__ __forceinline__ float capped_score(float score) {
  if constexpr (Heads::soft_cap != 0.0f) score = Heads::soft_cap * tanhf(score * (1.0f / Heads::soft_cap));
  return score;
}

// A score: q · k, scaled, capped and masked.
template <class Heads>
__device__ __forceinline__ float attention_score(Heads heads, float product, const typename Heads::Mask* mask,
                                                 typename Heads::Index head, typename Heads::Index query,
                                                 typename Heads::Index key) {
  float score = capped_score<Heads>(product * Heads::scale);
  if constexpr (Heads::causal) score = key > query ? -INFINITY : score;
  if constexpr (Heads::masking == Masking::keeping)
    score = mask[heads.mask(head, query, key)] ? score : -INFINITY;
  if constexpr (Heads::masking == Masking::adding)
    score += static_cast<float>(mask[heads.mask(head, query, key)]);
  return score;
}

// Bool masks of attention, a tile of keys at a time. Besides Heads' members:
//     static constexpr int key_tile;    // at most 64
//     static constexpr bool mask_runs;  // 16 mask elements are contiguous, 16-byte aligned

// A query's visible keys from key0 on, as bits.
template <class Heads, bool vectors>
__device__ __forceinline__ uint64_t kept_keys(Heads heads, const typename Heads::Mask* __restrict__ mask,
                                              typename Heads::Index head, typename Heads::Index query,
                                              typename Heads::Index key0) {
  uint64_t bits = 0;
  if constexpr (vectors && Heads::mask_runs) {
#pragma unroll
    for (int i = 0; i < Heads::key_tile; i += 16) {
      if (key0 + i >= heads.keys) break;
      const auto* words = reinterpret_cast<const uint32_t*>(mask + heads.mask(head, query, key0 + i));
      const Pack<uint32_t, 4> four = load<4>(words, 0);
      // The multiplication gathers the low bits of a word's four bytes.
#pragma unroll
      for (int w = 0; w < 4; ++w) bits |= uint64_t{(four[w] * 0x01020408u) >> 24 & 15u} << (i + w * 4);
    }
  } else {
#pragma unroll 16
    for (int i = 0; i < Heads::key_tile; ++i)
      if (key0 + i < heads.keys && mask[heads.mask(head, query, key0 + i)]) bits |= uint64_t{1} << i;
  }
  return bits;
}

// The end of attention on tensor cores: sums over keys become a row of the result. A lane holds two adjacent
// columns of each 8, as in mma's accumulators. Besides Heads' members:
//     static constexpr bool out_pairs;  // two elements of the result are contiguous, 8-byte aligned

// Stores row `r` of the two in `sums`, from `column` on. `total`: of its weights; `unit`: scale of v.
template <class Heads, bool vectors, int tiles, class Epilogue>
__device__ __forceinline__ void store_attention_row(Heads heads, const float (&sums)[tiles][4], int r,
                                                    float total, float unit, typename Heads::Index head,
                                                    typename Heads::Index query, int column,
                                                    typename Heads::Out* __restrict__ out,
                                                    Epilogue& epilogue) {
  // The sums of a fully masked row are zero: times 1 / 0 they are NaN.
  const bool nothing = Heads::weights != Weights::softmax && total == 0.0f;
  const float inverse = nothing ? 0.0f : 1.0f / total;
#pragma unroll
  for (int n = 0; n < tiles; ++n) {
    const int i = column + n * 8;
    Pack<typename Heads::Out, 2> two;
#pragma unroll
    for (int e = 0; e < 2; ++e)
      if (i + e < Heads::value_width)
        two[e] = static_cast<typename Heads::Out>(
            epilogue(sums[n][2 * r + e] * inverse * unit, heads.position(head, query, i + e)));
    if constexpr (Heads::out_pairs && vectors) {
      if (i < Heads::value_width) store<2>(out + heads.out(head, query, i), 0, two);
    } else {
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (i + e < Heads::value_width) out[heads.out(head, query, i + e)] = two[e];
    }
  }
}

}  // namespace stitch
