// __pipeline_*: asynchronous copies, executed at once.
#pragma once

#include <cstring>

#include "cuda_runtime.h"

// Copies size - zero_fill bytes and zeroes the rest. The sizes are cp.async's: 4, 8 or 16.
inline void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zero_fill = 0,
                                    unsigned line = __builtin_LINE()) {
  const bool aligned =
      reinterpret_cast<uintptr_t>(to) % size == 0 && reinterpret_cast<uintptr_t>(from) % size == 0;
  if ((size != 4 && size != 8 && size != 16) || zero_fill > size || !aligned)
    stitch_emulated::trap("__pipeline_memcpy_async of a size other than 4, 8, 16 or of misaligned addresses",
                          line);
  if (zero_fill < size) std::memcpy(to, from, size - zero_fill);
  std::memset(static_cast<char*>(to) + size - zero_fill, 0, zero_fill);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(size_t) {}
