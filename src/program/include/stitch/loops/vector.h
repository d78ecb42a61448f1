// Loads and stores of kernels made from expressions, in half precision too.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "stitch/runtime/vectors.h"

namespace stitch {
// Conversion from storage to arithmetic types and back (round to nearest).
__device__ __forceinline__ float widened(__half x) { return __half2float(x); }
__device__ __forceinline__ float widened(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class To, class From>
__device__ __forceinline__ To narrowed(From x) {
  return static_cast<To>(x);
}
template <>
__device__ __forceinline__ __half narrowed<__half, float>(float x) {
  return __float2half(x);
}
template <>
__device__ __forceinline__ __half narrowed<__half, double>(double x) {
  return __double2half(x);
}
template <>
__device__ __forceinline__ __nv_bfloat16 narrowed<__nv_bfloat16, float>(float x) {
  return __float2bfloat16(x);
}
template <>
__device__ __forceinline__ __nv_bfloat16 narrowed<__nv_bfloat16, double>(double x) {
  return __double2bfloat16(x);
}

// Vectorised loads and stores. A vector of up to 16 bytes is one instruction if its address is aligned, which
// the launcher checks; otherwise its elements are moved one by one.
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
