// Atomics for CUDA's types, with the _block and _system variants.
#pragma once

#include <cstring>
#include <type_traits>

#include "stitch/core.h"

namespace stitch_emulated {

// Atomically replaces *address by change(*address), for any width; returns the old value.
template <class T, class Change>
T update_atomically(T* address, Change change) {
  using Word =
      std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
  static_assert(sizeof(T) == sizeof(Word));
  count_spin();
  Word* word = reinterpret_cast<Word*>(address);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED), fresh;
  T value;
  do {
    std::memcpy(static_cast<void*>(&value), &old, sizeof value);
    T next = change(value);
    std::memcpy(&fresh, static_cast<const void*>(&next), sizeof fresh);
  } while (!__atomic_compare_exchange_n(word, &old, fresh, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  return value;
}

}  // namespace stitch_emulated

// One operation on one type, under its three names.
#define STITCH_ATOMIC(name, type, expression)                                                             \
  inline type name(type* address, type value) {                                                           \
    return stitch_emulated::update_atomically(address, [value](type old) -> type { return expression; }); \
  }                                                                                                       \
  inline type name##_block(type* address, type value) { return name(address, value); }                    \
  inline type name##_system(type* address, type value) { return name(address, value); }

#define STITCH_ATOMIC_INTEGERS(name, expression) \
  STITCH_ATOMIC(name, int, expression)           \
  STITCH_ATOMIC(name, unsigned, expression)      \
  STITCH_ATOMIC(name, unsigned long long, expression)

// Unsigned arithmetic, so that int wraps around as on a GPU.
STITCH_ATOMIC(atomicAdd, int, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value)))
STITCH_ATOMIC(atomicAdd, unsigned, old + value)
STITCH_ATOMIC(atomicAdd, unsigned long long, old + value)
STITCH_ATOMIC(atomicAdd, float, old + value)
STITCH_ATOMIC(atomicAdd, double, old + value)
STITCH_ATOMIC(atomicSub, int, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
STITCH_ATOMIC(atomicSub, unsigned, old - value)
STITCH_ATOMIC_INTEGERS(atomicExch, (static_cast<void>(old), value))
STITCH_ATOMIC(atomicExch, float, (static_cast<void>(old), value))
STITCH_ATOMIC_INTEGERS(atomicMin, old < value ? old : value)
STITCH_ATOMIC(atomicMin, long long, old < value ? old : value)
STITCH_ATOMIC_INTEGERS(atomicMax, old > value ? old : value)
STITCH_ATOMIC(atomicMax, long long, old > value ? old : value)
STITCH_ATOMIC_INTEGERS(atomicAnd, old& value)
STITCH_ATOMIC_INTEGERS(atomicOr, old | value)
STITCH_ATOMIC_INTEGERS(atomicXor, old ^ value)
STITCH_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
STITCH_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)

#undef STITCH_ATOMIC_INTEGERS

#define STITCH_ATOMIC_CAS(type)                                                                             \
  inline type atomicCAS(type* address, type expected, type value) {                                         \
    stitch_emulated::count_spin();                                                                          \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
    return expected;                                                                                        \
  }                                                                                                         \
  inline type atomicCAS_block(type* a, type expected, type value) { return atomicCAS(a, expected, value); } \
  inline type atomicCAS_system(type* a, type expected, type value) { return atomicCAS(a, expected, value); }
STITCH_ATOMIC_CAS(int)
STITCH_ATOMIC_CAS(unsigned)
STITCH_ATOMIC_CAS(unsigned long long)
STITCH_ATOMIC_CAS(unsigned short)
#undef STITCH_ATOMIC_CAS

// Each component is atomic, not the vector as a whole, as in CUDA.
inline float2 atomicAdd(float2* address, float2 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
inline float4 atomicAdd(float4* address, float4 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y), atomicAdd(&address->z, value.z),
          atomicAdd(&address->w, value.w)};
}
