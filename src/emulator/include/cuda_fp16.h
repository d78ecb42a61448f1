// Half precision: the type and its conversions. Its arithmetic is in stitch/half_arithmetic.inc.
#pragma once

#include "cuda_runtime.h"
#include "stitch/small_floats.h"

struct __half_raw {
  unsigned short x;
};
struct __half2_raw {
  unsigned short x, y;
};

struct alignas(2) __half {
  unsigned short __x;

  __half() = default;
  constexpr __half(__half_raw raw) : __x(raw.x) {}
  __half(float value) : __x(stitch_emulated::half_from_float(value)) {}
  __half(double value) : __x(static_cast<unsigned short>(stitch_emulated::HalfFormat::encode(value))) {}
  __half(int value) : __half(static_cast<double>(value)) {}
  __half(unsigned value) : __half(static_cast<double>(value)) {}
  __half(short value) : __half(static_cast<float>(value)) {}
  __half(unsigned short value) : __half(static_cast<float>(value)) {}
  __half(long long value) : __half(static_cast<double>(value)) {}
  __half(unsigned long long value) : __half(static_cast<double>(value)) {}
  operator float() const { return stitch_emulated::float_from_half(__x); }
  operator __half_raw() const { return {__x}; }
  __half& operator=(float value) { return *this = __half(value); }
  __half& operator=(double value) { return *this = __half(value); }
  __half& operator=(int value) { return *this = __half(value); }
};
struct alignas(4) __half2 {
  __half x, y;

  __half2() = default;
  constexpr __half2(__half low, __half high) : x(low), y(high) {}
  constexpr __half2(__half2_raw raw) : x(__half_raw{raw.x}), y(__half_raw{raw.y}) {}
  operator __half2_raw() const { return {x.__x, y.__x}; }
};

using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;

namespace stitch_emulated {
template <>
inline constexpr bool shuffles<__half> = true;
template <>
inline constexpr bool shuffles<__half2> = true;

inline __half half_code(unsigned code) { return __half_raw{static_cast<unsigned short>(code)}; }
inline __half half_rounded(double value, Rounding rounding) {
  return half_code(HalfFormat::encode(value, rounding));
}
}  // namespace stitch_emulated

// Conversions.
inline __half __float2half(float a) { return a; }
inline __half __double2half(double a) { return a; }
inline float __half2float(__half a) { return a; }
inline __half __float2half_rn(float a) {
  return stitch_emulated::half_rounded(a, stitch_emulated::Rounding::nearest);
}
inline __half __int2half_rn(int a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::nearest);
}
inline __half __uint2half_rn(unsigned a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::nearest);
}
inline __half __short2half_rn(short a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::nearest);
}
inline __half __ushort2half_rn(unsigned short a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::nearest);
}
inline __half __ll2half_rn(long long a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::nearest);
}
inline __half __ull2half_rn(unsigned long long a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::nearest);
}
inline __half __float2half_rz(float a) {
  return stitch_emulated::half_rounded(a, stitch_emulated::Rounding::zero);
}
inline __half __int2half_rz(int a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::zero);
}
inline __half __uint2half_rz(unsigned a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::zero);
}
inline __half __short2half_rz(short a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::zero);
}
inline __half __ushort2half_rz(unsigned short a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::zero);
}
inline __half __ll2half_rz(long long a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::zero);
}
inline __half __ull2half_rz(unsigned long long a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::zero);
}
inline __half __float2half_ru(float a) {
  return stitch_emulated::half_rounded(a, stitch_emulated::Rounding::up);
}
inline __half __int2half_ru(int a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::up);
}
inline __half __uint2half_ru(unsigned a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::up);
}
inline __half __short2half_ru(short a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::up);
}
inline __half __ushort2half_ru(unsigned short a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::up);
}
inline __half __ll2half_ru(long long a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::up);
}
inline __half __ull2half_ru(unsigned long long a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::up);
}
inline __half __float2half_rd(float a) {
  return stitch_emulated::half_rounded(a, stitch_emulated::Rounding::down);
}
inline __half __int2half_rd(int a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::down);
}
inline __half __uint2half_rd(unsigned a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::down);
}
inline __half __short2half_rd(short a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::down);
}
inline __half __ushort2half_rd(unsigned short a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::down);
}
inline __half __ll2half_rd(long long a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::down);
}
inline __half __ull2half_rd(unsigned long long a) {
  return stitch_emulated::half_rounded(static_cast<double>(a), stitch_emulated::Rounding::down);
}
inline int __half2int_rn(__half a) { return __float2int_rn(a); }
inline int __half2int_rz(__half a) { return __float2int_rz(a); }
inline int __half2int_ru(__half a) { return __float2int_ru(a); }
inline int __half2int_rd(__half a) { return __float2int_rd(a); }
inline unsigned __half2uint_rn(__half a) { return __float2uint_rn(a); }
inline unsigned __half2uint_rz(__half a) { return __float2uint_rz(a); }
inline unsigned __half2uint_ru(__half a) { return __float2uint_ru(a); }
inline unsigned __half2uint_rd(__half a) { return __float2uint_rd(a); }
inline long long __half2ll_rn(__half a) { return __float2ll_rn(a); }
inline long long __half2ll_rz(__half a) { return __float2ll_rz(a); }
inline long long __half2ll_ru(__half a) { return __float2ll_ru(a); }
inline long long __half2ll_rd(__half a) { return __float2ll_rd(a); }
inline unsigned long long __half2ull_rn(__half a) { return __float2ull_rn(a); }
inline unsigned long long __half2ull_rz(__half a) { return __float2ull_rz(a); }
inline unsigned long long __half2ull_ru(__half a) { return __float2ull_ru(a); }
inline unsigned long long __half2ull_rd(__half a) { return __float2ull_rd(a); }
inline short __half2short_rn(__half a) {
  return stitch_emulated::saturate<short>(std::nearbyint(static_cast<float>(a)));
}
inline short __half2short_rz(__half a) {
  return stitch_emulated::saturate<short>(std::trunc(static_cast<float>(a)));
}
inline short __half2short_ru(__half a) {
  return stitch_emulated::saturate<short>(std::ceil(static_cast<float>(a)));
}
inline short __half2short_rd(__half a) {
  return stitch_emulated::saturate<short>(std::floor(static_cast<float>(a)));
}
inline unsigned short __half2ushort_rn(__half a) {
  return stitch_emulated::saturate<unsigned short>(std::nearbyint(static_cast<float>(a)));
}
inline unsigned short __half2ushort_rz(__half a) {
  return stitch_emulated::saturate<unsigned short>(std::trunc(static_cast<float>(a)));
}
inline unsigned short __half2ushort_ru(__half a) {
  return stitch_emulated::saturate<unsigned short>(std::ceil(static_cast<float>(a)));
}
inline unsigned short __half2ushort_rd(__half a) {
  return stitch_emulated::saturate<unsigned short>(std::floor(static_cast<float>(a)));
}
inline unsigned short __half_as_ushort(__half a) { return a.__x; }
inline short __half_as_short(__half a) { return static_cast<short>(a.__x); }
inline __half __ushort_as_half(unsigned short a) { return __half_raw{a}; }
inline __half __short_as_half(short a) { return __half_raw{static_cast<unsigned short>(a)}; }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half a) { return {a, a}; }
inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
inline __half2 __float2half2_rn(float a) { return {__half(a), __half(a)}; }
inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
inline __half2 __float22half2_rn(float2 a) { return {__half(a.x), __half(a.y)}; }
inline float2 __half22float2(__half2 a) { return {a.x, a.y}; }
inline float __low2float(__half2 a) { return a.x; }
inline float __high2float(__half2 a) { return a.y; }
inline __half __low2half(__half2 a) { return a.x; }
inline __half __high2half(__half2 a) { return a.y; }
inline __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
inline __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
inline __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }

#define STITCH_ONE __half
#define STITCH_TWO __half2
#define STITCH_RAW __half_raw
#include "stitch/half_arithmetic.inc"
