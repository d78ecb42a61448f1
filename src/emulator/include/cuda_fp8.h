// The 8-bit floats e4m3 and e5m2: storage types and conversions. As on a GPU, they have no arithmetic.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate,
                                                 __nv_fp8_interpretation_t kind) {
  const bool clamp = saturate == __NV_SATFINITE;
  return static_cast<__nv_fp8_storage_t>(
      kind == __NV_E4M3 ? stitch_emulated::E4m3Format::encode(x, stitch_emulated::Rounding::nearest, clamp)
                        : stitch_emulated::E5m2Format::encode(x, stitch_emulated::Rounding::nearest, clamp));
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate,
                                                __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(x, saturate, kind);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate,
                                                  __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(static_cast<float>(__half(x)), saturate, kind);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturate,
                                                      __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(static_cast<float>(__nv_bfloat16(x)), saturate, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturate,
                                                     __nv_fp8_interpretation_t kind) {
  return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_float_to_fp8(x.x, saturate, kind) |
                                           __nv_cvt_float_to_fp8(x.y, saturate, kind) << 8);
}
inline __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturate,
                                                       __nv_fp8_interpretation_t kind) {
  return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_halfraw_to_fp8({x.x}, saturate, kind) |
                                           __nv_cvt_halfraw_to_fp8({x.y}, saturate, kind) << 8);
}
inline float stitch_fp8_to_float(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? stitch_emulated::E4m3Format::decode(x) : stitch_emulated::E5m2Format::decode(x);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return __half(stitch_fp8_to_float(x, kind));
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t kind) {
  return {__nv_cvt_fp8_to_halfraw(static_cast<unsigned char>(x), kind).x,
          __nv_cvt_fp8_to_halfraw(static_cast<unsigned char>(x >> 8), kind).x};
}

// The classes saturate, as in CUDA. Pairs and quads hold codes lowest first.
#define STITCH_FP8(suffix, kind)                                                                          \
  struct __nv_fp8_##suffix {                                                                              \
    __nv_fp8_storage_t __x;                                                                               \
    __nv_fp8_##suffix() = default;                                                                        \
    explicit __nv_fp8_##suffix(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, kind)) {}          \
    explicit __nv_fp8_##suffix(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, kind)) {}        \
    explicit __nv_fp8_##suffix(int x) : __nv_fp8_##suffix(static_cast<double>(x)) {}                      \
    explicit __nv_fp8_##suffix(unsigned x) : __nv_fp8_##suffix(static_cast<double>(x)) {}                 \
    explicit __nv_fp8_##suffix(long long x) : __nv_fp8_##suffix(static_cast<double>(x)) {}                \
    explicit __nv_fp8_##suffix(__half x) : __nv_fp8_##suffix(static_cast<float>(x)) {}                    \
    explicit __nv_fp8_##suffix(__nv_bfloat16 x) : __nv_fp8_##suffix(static_cast<float>(x)) {}             \
    explicit operator float() const { return stitch_fp8_to_float(__x, kind); }                            \
    explicit operator double() const { return stitch_fp8_to_float(__x, kind); }                           \
    explicit operator __half() const { return __half(stitch_fp8_to_float(__x, kind)); }                   \
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(stitch_fp8_to_float(__x, kind)); }     \
    explicit operator int() const { return __float2int_rz(stitch_fp8_to_float(__x, kind)); }              \
    explicit operator bool() const { return stitch_fp8_to_float(__x, kind) != 0; }                        \
  };                                                                                                      \
  struct alignas(2) __nv_fp8x2_##suffix {                                                                 \
    __nv_fp8x2_storage_t __x;                                                                             \
    __nv_fp8x2_##suffix() = default;                                                                      \
    explicit __nv_fp8x2_##suffix(float2 x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, kind)) {}    \
    explicit __nv_fp8x2_##suffix(__half2 x) : __nv_fp8x2_##suffix(__half22float2(x)) {}                   \
    explicit __nv_fp8x2_##suffix(__nv_bfloat162 x) : __nv_fp8x2_##suffix(__bfloat1622float2(x)) {}        \
    explicit operator float2() const {                                                                    \
      return {stitch_fp8_to_float(static_cast<unsigned char>(__x), kind),                                 \
              stitch_fp8_to_float(static_cast<unsigned char>(__x >> 8), kind)};                           \
    }                                                                                                     \
    explicit operator __half2() const { return __float22half2_rn(static_cast<float2>(*this)); }           \
  };                                                                                                      \
  struct alignas(4) __nv_fp8x4_##suffix {                                                                 \
    __nv_fp8x4_storage_t __x;                                                                             \
    __nv_fp8x4_##suffix() = default;                                                                      \
    explicit __nv_fp8x4_##suffix(float4 x)                                                                \
        : __x(static_cast<unsigned>(__nv_cvt_float2_to_fp8x2({x.x, x.y}, __NV_SATFINITE, kind)) |         \
              static_cast<unsigned>(__nv_cvt_float2_to_fp8x2({x.z, x.w}, __NV_SATFINITE, kind)) << 16) {} \
    explicit operator float4() const {                                                                    \
      return {stitch_fp8_to_float(static_cast<unsigned char>(__x), kind),                                 \
              stitch_fp8_to_float(static_cast<unsigned char>(__x >> 8), kind),                            \
              stitch_fp8_to_float(static_cast<unsigned char>(__x >> 16), kind),                           \
              stitch_fp8_to_float(static_cast<unsigned char>(__x >> 24), kind)};                          \
    }                                                                                                     \
  };
STITCH_FP8(e4m3, __NV_E4M3)
STITCH_FP8(e5m2, __NV_E5M2)
#undef STITCH_FP8
