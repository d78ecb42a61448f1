// The end of attention on tensor cores: sums over keys become a row of the result. A lane has two neighbours
// of each 8 columns, as mma leaves them. Besides what attention_heads.h asks for:
//     static constexpr bool out_pairs;  // two neighbours of the result lie side by side, at 8 bytes
#pragma once

#include "stitch/kernels/attention_heads.h"

namespace stitch {
// Of two rows in `sums` the one that `r` says, from `column` on. `total`: of its weights; `unit`: of v.
template <class H, bool vectors, int tiles, class Epilogue>
__device__ __forceinline__ void store_attention_row(const float (&sums)[tiles][4], int r, float total,
                                                    float unit, typename H::Index head,
                                                    typename H::Index query, int column,
                                                    typename H::Out* __restrict__ out, Epilogue& epilogue) {
  // The sums of a row that keeps nothing are zero: times 1 / 0 they are NaN.
  const bool nothing = H::weights != Weights::softmax && total == 0.0f;
  const float inverse = nothing ? 0.0f : 1.0f / total;
#pragma unroll
  for (int n = 0; n < tiles; ++n) {
    const int i = column + n * 8;
    Pack<typename H::Out, 2> two;
#pragma unroll
    for (int e = 0; e < 2; ++e)
      if (i + e < H::value_width)
        two[e] = static_cast<typename H::Out>(
            epilogue(sums[n][2 * r + e] * inverse * unit, H::position(head, query, i + e)));
    if constexpr (H::out_pairs && vectors) {
      if (i < H::value_width) store<2>(out + H::out(head, query, i), 0, two);
    } else {
#pragma unroll
      for (int e = 0; e < 2; ++e)
        if (i + e < H::value_width) out[H::out(head, query, i + e)] = two[e];
    }
  }
}

}  // namespace stitch
