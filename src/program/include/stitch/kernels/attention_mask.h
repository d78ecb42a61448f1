// A bool mask of attention, a tile of keys at a time. Besides what attention_heads.h asks for:
//     static constexpr int key_tile;    // at most 64
//     static constexpr bool mask_runs;  // 16 of the mask lie side by side, at 16 bytes
#pragma once

#include "stitch/kernels/attention_heads.h"

namespace stitch {
// Which of the keys from key0 on a query keeps, a bit each.
template <class H, bool vectors>
__device__ __forceinline__ uint64_t kept_keys(const typename H::Mask* __restrict__ mask,
                                              typename H::Index head, typename H::Index query,
                                              typename H::Index key0) {
  uint64_t bits = 0;
  if constexpr (vectors && H::mask_runs) {
#pragma unroll
    for (int i = 0; i < H::key_tile; i += 16) {
      if (key0 + i >= H::keys) break;
      const auto* words = reinterpret_cast<const uint32_t*>(mask + H::mask(head, query, key0 + i));
      const Pack<uint32_t, 4> four = load<4>(words, 0);
      // The factor brings a bit of each of a word's four bytes, 0 or 1, side by side.
#pragma unroll
      for (int w = 0; w < 4; ++w) bits |= uint64_t{(four[w] * 0x01020408u) >> 24 & 15u} << (i + w * 4);
    }
  } else {
#pragma unroll 16
    for (int i = 0; i < H::key_tile; ++i)
      if (key0 + i < H::keys && mask[H::mask(head, query, key0 + i)]) bits |= uint64_t{1} << i;
  }
  return bits;
}

}  // namespace stitch
