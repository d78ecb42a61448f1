// loops_load.h for half precision too, in a header of its own because its includes double the compile time.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "stitch/loops/load.h"

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

}  // namespace stitch
