// What kernels for attention without scores in memory share. What is attended stands in a struct, as in
// matmul.h:
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
// How scores become weights. A row that keeps nothing is NaN under softmax, zero under safe_softmax.
enum class Weights : uint8_t { softmax, safe_softmax, relu };
// keeping: a bool for each score, false: it weighs nothing. adding: a number is added to each.
enum class Masking : uint8_t { none, keeping, adding };

// Scores within ± soft_cap, as tanh bends them.
template <class H>
__device__ __forceinline__ float capped_score(float score) {
  if constexpr (H::soft_cap != 0.0f) score = H::soft_cap * tanhf(score * (1.0f / H::soft_cap));
  return score;
}

// A score: the product of a query and a key, scaled, capped and masked.
template <class H>
__device__ __forceinline__ float attention_score(float product, const typename H::Mask* mask,
                                                 typename H::Index head, typename H::Index query,
                                                 typename H::Index key) {
  float score = capped_score<H>(product * H::scale);
  if constexpr (H::causal) score = key > query ? -INFINITY : score;
  if constexpr (H::masking == Masking::keeping) score = mask[H::mask(head, query, key)] ? score : -INFINITY;
  if constexpr (H::masking == Masking::adding) score += static_cast<float>(mask[H::mask(head, query, key)]);
  return score;
}

}  // namespace stitch
