// Loads and stores with cache hints, which are ignored. One address space.
#pragma once

#include <cstddef>
#include <cstdint>

#define STITCH_LOAD(name)           \
  template <class T>                \
  inline T name(const T* address) { \
    return *address;                \
  }
STITCH_LOAD(__ldg)
STITCH_LOAD(__ldca)
STITCH_LOAD(__ldcg)
STITCH_LOAD(__ldcs)
STITCH_LOAD(__ldlu)
STITCH_LOAD(__ldcv)
#undef STITCH_LOAD

#define STITCH_STORE(name)                \
  template <class T, class U>             \
  inline void name(T* address, U value) { \
    *address = static_cast<T>(value);     \
  }
STITCH_STORE(__stwb)
STITCH_STORE(__stcg)
STITCH_STORE(__stcs)
STITCH_STORE(__stwt)
#undef STITCH_STORE

inline size_t __cvta_generic_to_shared(const void* pointer) { return reinterpret_cast<size_t>(pointer); }
inline void* __cvta_shared_to_generic(size_t pointer) { return reinterpret_cast<void*>(pointer); }
inline size_t __cvta_generic_to_global(const void* pointer) { return reinterpret_cast<size_t>(pointer); }
