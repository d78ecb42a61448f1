// Vectorised loads and stores. A vector of up to 16 bytes is one instruction if its address is aligned, which
// the launcher checks; otherwise its elements are moved one by one.
#pragma once

#include "stitch/runtime/vectors.h"

namespace stitch {
template <bool aligned, int width, class T>
__device__ __forceinline__ Pack<T, width> load_vector(const T* from) {
  if constexpr (aligned) {
    return load<width>(from, 0);
  } else {
    Pack<T, width> vector;
#pragma unroll
    for (int i = 0; i < width; ++i) vector[i] = from[i];
    return vector;
  }
}

template <bool aligned, int width, class T>
__device__ __forceinline__ void store_vector(T* to, const Pack<T, width>& vector) {
  if constexpr (aligned) {
    store<width>(to, 0, vector);
  } else {
#pragma unroll
    for (int i = 0; i < width; ++i) to[i] = vector[i];
  }
}

}  // namespace stitch
