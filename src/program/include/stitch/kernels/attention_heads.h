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

}  // namespace stitch
