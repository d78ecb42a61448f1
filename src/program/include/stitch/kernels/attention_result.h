// The end of attention on tensor cores: sums over keys become a row of the result. A lane holds two adjacent
// columns of each 8, as in mma's accumulators. Besides attention_heads.h:
//     static constexpr bool out_pairs;  // two elements of the result are contiguous, 8-byte aligned
#pragma once

#include "stitch/kernels/attention_heads.h"

namespace stitch {
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
