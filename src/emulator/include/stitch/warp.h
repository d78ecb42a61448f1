// Warp shuffles, votes, matches and reductions over the lanes of a mask.
#pragma once

#include <cstring>
#include <type_traits>

#include "stitch/core.h"

namespace stitch_emulated {

template <class T>
uint64_t to_word(T value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "shuffles carry at most 8 bytes");
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <class T>
T from_word(uint64_t word) {
  T value;
  std::memcpy(static_cast<void*>(&value), &word, sizeof value);
  return value;
}

// Types that CUDA's shuffles take; half and bfloat16 specialise it in their own headers.
template <class T>
inline constexpr bool shuffles = std::is_arithmetic_v<T> && sizeof(T) >= 4 && sizeof(T) <= 8;

template <class T>
T shuffle(unsigned mask, T value, unsigned source, const char* what, unsigned line) {
  return from_word<T>(exchange(Collective::shuffle, mask, to_word(value), source, what, line));
}

}  // namespace stitch_emulated

// `width` is a power of two: lanes exchange within groups of that size; a lane whose source is outside its
// group keeps its value.
template <class T, std::enable_if_t<stitch_emulated::shuffles<T>, int> = 0>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, unsigned line = __builtin_LINE()) {
  unsigned lane = stitch_emulated::lane();
  return stitch_emulated::shuffle(mask, value, (lane & ~(width - 1u)) | (source & (width - 1)), "__shfl_sync",
                                  line);
}
template <class T, std::enable_if_t<stitch_emulated::shuffles<T>, int> = 0>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                        unsigned line = __builtin_LINE()) {
  unsigned lane = stitch_emulated::lane(), in_group = lane & (width - 1u);
  delta &= 31;  // as in hardware
  return stitch_emulated::shuffle(mask, value, delta > in_group ? lane : lane - delta, "__shfl_up_sync",
                                  line);
}
template <class T, std::enable_if_t<stitch_emulated::shuffles<T>, int> = 0>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                          unsigned line = __builtin_LINE()) {
  unsigned lane = stitch_emulated::lane(), in_group = lane & (width - 1u);
  delta &= 31;  // as in hardware
  return stitch_emulated::shuffle(mask, value, delta >= width - in_group ? lane : lane + delta,
                                  "__shfl_down_sync", line);
}
template <class T, std::enable_if_t<stitch_emulated::shuffles<T>, int> = 0>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                         unsigned line = __builtin_LINE()) {
  // As in hardware: a source in a later group can't be read, one in an earlier group can.
  unsigned lane = stitch_emulated::lane(), source = lane ^ (lane_mask & 31u);
  return stitch_emulated::shuffle(mask, value, source > (lane | (width - 1u)) ? lane : source,
                                  "__shfl_xor_sync", line);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, unsigned line = __builtin_LINE()) {
  stitch_emulated::exchange(stitch_emulated::Collective::sync, mask, 0, 0, "__syncwarp", line);
}
inline unsigned __activemask(unsigned line = __builtin_LINE()) {
  return stitch_emulated::active_mask("__activemask", line);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, unsigned line = __builtin_LINE()) {
  return stitch_emulated::exchange(stitch_emulated::Collective::ballot, mask, predicate != 0, 0,
                                   "__ballot_sync", line);
}
inline int __any_sync(unsigned mask, int predicate, unsigned line = __builtin_LINE()) {
  return stitch_emulated::exchange(stitch_emulated::Collective::any, mask, predicate != 0, 0, "__any_sync",
                                   line);
}
inline int __all_sync(unsigned mask, int predicate, unsigned line = __builtin_LINE()) {
  return stitch_emulated::exchange(stitch_emulated::Collective::all, mask, predicate != 0, 0, "__all_sync",
                                   line);
}
inline int __uni_sync(unsigned mask, int predicate, unsigned line = __builtin_LINE()) {
  return stitch_emulated::exchange(stitch_emulated::Collective::uni, mask, predicate != 0, 0, "__uni_sync",
                                   line);
}

template <class T, std::enable_if_t<stitch_emulated::shuffles<T>, int> = 0>
inline unsigned __match_any_sync(unsigned mask, T value, unsigned line = __builtin_LINE()) {
  return stitch_emulated::exchange(stitch_emulated::Collective::match_any, mask,
                                   stitch_emulated::to_word(value), 0, "__match_any_sync", line);
}
template <class T, std::enable_if_t<stitch_emulated::shuffles<T>, int> = 0>
inline unsigned __match_all_sync(unsigned mask, T value, int* all_same, unsigned line = __builtin_LINE()) {
  unsigned same = stitch_emulated::exchange(stitch_emulated::Collective::match_all, mask,
                                            stitch_emulated::to_word(value), 0, "__match_all_sync", line);
  *all_same = same != 0;
  return same;
}

#define STITCH_REDUCE(name, type, kind)                                                             \
  inline type __reduce_##name##_sync(unsigned mask, type value, unsigned line = __builtin_LINE()) { \
    return static_cast<type>(stitch_emulated::exchange(stitch_emulated::Collective::kind, mask,     \
                                                       static_cast<uint32_t>(value), 0,             \
                                                       "__reduce_" #name "_sync", line));           \
  }
STITCH_REDUCE(add, unsigned, add)
STITCH_REDUCE(add, int, add)
STITCH_REDUCE(min, unsigned, min)
STITCH_REDUCE(min, int, smin)
STITCH_REDUCE(max, unsigned, max)
STITCH_REDUCE(max, int, smax)
STITCH_REDUCE(and, unsigned, bit_and)
STITCH_REDUCE(or, unsigned, bit_or)
STITCH_REDUCE(xor, unsigned, bit_xor)
#undef STITCH_REDUCE
