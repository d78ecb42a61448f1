// bfloat16: the type and its conversions. Its arithmetic is in stitch/half_arithmetic.inc.
#pragma once

#include "cuda_fp16.h"
#include "cuda_runtime.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __nv_bfloat162_raw {
  unsigned short x, y;
};

struct alignas(2) __nv_bfloat16 {
  unsigned short __x;

  __nv_bfloat16() = default;
  constexpr __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x) {}
  __nv_bfloat16(float value) : __x(stitch_emulated::bfloat_from_float(value)) {}
  __nv_bfloat16(double value)
      : __x(static_cast<unsigned short>(stitch_emulated::BfloatFormat::encode(value))) {}
  __nv_bfloat16(int value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(unsigned value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(short value) : __nv_bfloat16(static_cast<float>(value)) {}
  __nv_bfloat16(unsigned short value) : __nv_bfloat16(static_cast<float>(value)) {}
  __nv_bfloat16(long long value) : __nv_bfloat16(static_cast<double>(value)) {}
  __nv_bfloat16(unsigned long long value) : __nv_bfloat16(static_cast<double>(value)) {}
  explicit __nv_bfloat16(__half value) : __nv_bfloat16(static_cast<float>(value)) {}
  operator float() const { return stitch_emulated::float_from_bfloat(__x); }
  operator __nv_bfloat16_raw() const { return {__x}; }
  __nv_bfloat16& operator=(float value) { return *this = __nv_bfloat16(value); }
  __nv_bfloat16& operator=(double value) { return *this = __nv_bfloat16(value); }
  __nv_bfloat16& operator=(int value) { return *this = __nv_bfloat16(value); }
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;

  __nv_bfloat162() = default;
  constexpr __nv_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) : x(low), y(high) {}
  constexpr __nv_bfloat162(__nv_bfloat162_raw raw)
      : x(__nv_bfloat16_raw{raw.x}), y(__nv_bfloat16_raw{raw.y}) {}
  operator __nv_bfloat162_raw() const { return {x.__x, y.__x}; }
};

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

namespace stitch_emulated {
template <>
inline constexpr bool shuffles<__nv_bfloat16> = true;
template <>
inline constexpr bool shuffles<__nv_bfloat162> = true;

inline __nv_bfloat16 bfloat16_code(unsigned code) {
  return __nv_bfloat16_raw{static_cast<unsigned short>(code)};
}
inline __nv_bfloat16 bfloat16_rounded(double value, Rounding rounding) {
  return bfloat16_code(BfloatFormat::encode(value, rounding));
}
}  // namespace stitch_emulated

// Conversions.
inline __nv_bfloat16 __float2bfloat16(float a) { return a; }
inline __nv_bfloat16 __double2bfloat16(double a) { return a; }
inline float __bfloat162float(__nv_bfloat16 a) { return a; }
inline __nv_bfloat16 __float2bfloat16_rn(float a) {
  return stitch_emulated::bfloat16_rounded(a, stitch_emulated::Rounding::nearest);
}
inline __nv_bfloat16 __int2bfloat16_rn(int a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::nearest);
}
inline __nv_bfloat16 __uint2bfloat16_rn(unsigned a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::nearest);
}
inline __nv_bfloat16 __short2bfloat16_rn(short a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::nearest);
}
inline __nv_bfloat16 __ushort2bfloat16_rn(unsigned short a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::nearest);
}
inline __nv_bfloat16 __ll2bfloat16_rn(long long a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::nearest);
}
inline __nv_bfloat16 __ull2bfloat16_rn(unsigned long long a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::nearest);
}
inline __nv_bfloat16 __float2bfloat16_rz(float a) {
  return stitch_emulated::bfloat16_rounded(a, stitch_emulated::Rounding::zero);
}
inline __nv_bfloat16 __int2bfloat16_rz(int a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::zero);
}
inline __nv_bfloat16 __uint2bfloat16_rz(unsigned a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::zero);
}
inline __nv_bfloat16 __short2bfloat16_rz(short a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::zero);
}
inline __nv_bfloat16 __ushort2bfloat16_rz(unsigned short a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::zero);
}
inline __nv_bfloat16 __ll2bfloat16_rz(long long a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::zero);
}
inline __nv_bfloat16 __ull2bfloat16_rz(unsigned long long a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::zero);
}
inline __nv_bfloat16 __float2bfloat16_ru(float a) {
  return stitch_emulated::bfloat16_rounded(a, stitch_emulated::Rounding::up);
}
inline __nv_bfloat16 __int2bfloat16_ru(int a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::up);
}
inline __nv_bfloat16 __uint2bfloat16_ru(unsigned a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::up);
}
inline __nv_bfloat16 __short2bfloat16_ru(short a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::up);
}
inline __nv_bfloat16 __ushort2bfloat16_ru(unsigned short a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::up);
}
inline __nv_bfloat16 __ll2bfloat16_ru(long long a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::up);
}
inline __nv_bfloat16 __ull2bfloat16_ru(unsigned long long a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::up);
}
inline __nv_bfloat16 __float2bfloat16_rd(float a) {
  return stitch_emulated::bfloat16_rounded(a, stitch_emulated::Rounding::down);
}
inline __nv_bfloat16 __int2bfloat16_rd(int a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::down);
}
inline __nv_bfloat16 __uint2bfloat16_rd(unsigned a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::down);
}
inline __nv_bfloat16 __short2bfloat16_rd(short a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::down);
}
inline __nv_bfloat16 __ushort2bfloat16_rd(unsigned short a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::down);
}
inline __nv_bfloat16 __ll2bfloat16_rd(long long a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::down);
}
inline __nv_bfloat16 __ull2bfloat16_rd(unsigned long long a) {
  return stitch_emulated::bfloat16_rounded(static_cast<double>(a), stitch_emulated::Rounding::down);
}
inline int __bfloat162int_rn(__nv_bfloat16 a) { return __float2int_rn(a); }
inline int __bfloat162int_rz(__nv_bfloat16 a) { return __float2int_rz(a); }
inline int __bfloat162int_ru(__nv_bfloat16 a) { return __float2int_ru(a); }
inline int __bfloat162int_rd(__nv_bfloat16 a) { return __float2int_rd(a); }
inline unsigned __bfloat162uint_rn(__nv_bfloat16 a) { return __float2uint_rn(a); }
inline unsigned __bfloat162uint_rz(__nv_bfloat16 a) { return __float2uint_rz(a); }
inline unsigned __bfloat162uint_ru(__nv_bfloat16 a) { return __float2uint_ru(a); }
inline unsigned __bfloat162uint_rd(__nv_bfloat16 a) { return __float2uint_rd(a); }
inline long long __bfloat162ll_rn(__nv_bfloat16 a) { return __float2ll_rn(a); }
inline long long __bfloat162ll_rz(__nv_bfloat16 a) { return __float2ll_rz(a); }
inline long long __bfloat162ll_ru(__nv_bfloat16 a) { return __float2ll_ru(a); }
inline long long __bfloat162ll_rd(__nv_bfloat16 a) { return __float2ll_rd(a); }
inline unsigned long long __bfloat162ull_rn(__nv_bfloat16 a) { return __float2ull_rn(a); }
inline unsigned long long __bfloat162ull_rz(__nv_bfloat16 a) { return __float2ull_rz(a); }
inline unsigned long long __bfloat162ull_ru(__nv_bfloat16 a) { return __float2ull_ru(a); }
inline unsigned long long __bfloat162ull_rd(__nv_bfloat16 a) { return __float2ull_rd(a); }
inline short __bfloat162short_rn(__nv_bfloat16 a) {
  return stitch_emulated::saturate<short>(std::nearbyint(static_cast<float>(a)));
}
inline short __bfloat162short_rz(__nv_bfloat16 a) {
  return stitch_emulated::saturate<short>(std::trunc(static_cast<float>(a)));
}
inline short __bfloat162short_ru(__nv_bfloat16 a) {
  return stitch_emulated::saturate<short>(std::ceil(static_cast<float>(a)));
}
inline short __bfloat162short_rd(__nv_bfloat16 a) {
  return stitch_emulated::saturate<short>(std::floor(static_cast<float>(a)));
}
inline unsigned short __bfloat162ushort_rn(__nv_bfloat16 a) {
  return stitch_emulated::saturate<unsigned short>(std::nearbyint(static_cast<float>(a)));
}
inline unsigned short __bfloat162ushort_rz(__nv_bfloat16 a) {
  return stitch_emulated::saturate<unsigned short>(std::trunc(static_cast<float>(a)));
}
inline unsigned short __bfloat162ushort_ru(__nv_bfloat16 a) {
  return stitch_emulated::saturate<unsigned short>(std::ceil(static_cast<float>(a)));
}
inline unsigned short __bfloat162ushort_rd(__nv_bfloat16 a) {
  return stitch_emulated::saturate<unsigned short>(std::floor(static_cast<float>(a)));
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.__x; }
inline short __bfloat16_as_short(__nv_bfloat16 a) { return static_cast<short>(a.__x); }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short a) { return __nv_bfloat16_raw{a}; }
inline __nv_bfloat16 __short_as_bfloat16(short a) {
  return __nv_bfloat16_raw{static_cast<unsigned short>(a)};
}
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return {a, a}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
inline __nv_bfloat162 __float2bfloat162_rn(float a) { return {__nv_bfloat16(a), __nv_bfloat16(a)}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {__nv_bfloat16(a), __nv_bfloat16(b)}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 a) { return {__nv_bfloat16(a.x), __nv_bfloat16(a.y)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 a) { return {a.x, a.y}; }
inline float __low2float(__nv_bfloat162 a) { return a.x; }
inline float __high2float(__nv_bfloat162 a) { return a.y; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
inline __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 a) { return {a.y, a.x}; }

#define STITCH_ONE __nv_bfloat16
#define STITCH_TWO __nv_bfloat162
#define STITCH_RAW __nv_bfloat16_raw
#include "stitch/half_arithmetic.inc"
