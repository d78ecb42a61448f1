// Bool masks of attention, a tile of keys at a time. Besides attention_heads.h:
//     static constexpr int key_tile;    // at most 64
//     static constexpr bool mask_runs;  // 16 mask elements are contiguous, 16-byte aligned
#pragma once

#include "stitch/kernels/attention_heads.h"

namespace stitch {
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

}  // namespace stitch
