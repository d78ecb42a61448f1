// Conversions with rounding modes; out-of-range values saturate, as on a GPU.
#pragma once

#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

namespace stitch_emulated {

// Computes under another rounding mode; volatile keeps the compiler from moving the values.
template <class F>
inline auto rounded(int mode, F&& compute) {
  const int before = std::fegetround();
  std::fesetround(mode);
  volatile auto result = compute();
  std::fesetround(before);
  return static_cast<std::remove_volatile_t<decltype(result)>>(result);
}
template <class T>
inline T opaque(T value) {
  volatile T hidden = value;
  return hidden;
}

template <class To, class From>
inline To saturate(From whole) {
  // As in PTX: NaN becomes 0 between 32-bit types, otherwise only the highest bit is set.
  if (whole != whole)
    return sizeof(To) + sizeof(From) > 8 ? static_cast<To>(1ull << (8 * sizeof(To) - 1)) : To{0};
  // 2^31 is a float, 2^31 - 1 is not: compare with the first value that is too large.
  constexpr From above = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  if (whole >= above) return std::numeric_limits<To>::max();
  if (whole <= static_cast<From>(std::numeric_limits<To>::lowest())) return std::numeric_limits<To>::lowest();
  return static_cast<To>(whole);
}

}  // namespace stitch_emulated

#define STITCH_TO_INTEGER(from, name, to)                                                      \
  inline to __##name##_rn(from x) { return stitch_emulated::saturate<to>(std::nearbyint(x)); } \
  inline to __##name##_rz(from x) { return stitch_emulated::saturate<to>(std::trunc(x)); }     \
  inline to __##name##_ru(from x) { return stitch_emulated::saturate<to>(std::ceil(x)); }      \
  inline to __##name##_rd(from x) { return stitch_emulated::saturate<to>(std::floor(x)); }
STITCH_TO_INTEGER(float, float2int, int)
STITCH_TO_INTEGER(float, float2uint, unsigned)
STITCH_TO_INTEGER(float, float2ll, long long)
STITCH_TO_INTEGER(float, float2ull, unsigned long long)
STITCH_TO_INTEGER(double, double2int, int)
STITCH_TO_INTEGER(double, double2uint, unsigned)
STITCH_TO_INTEGER(double, double2ll, long long)
STITCH_TO_INTEGER(double, double2ull, unsigned long long)
#undef STITCH_TO_INTEGER

#define STITCH_TO_REAL(from, name, to)                                                                       \
  inline to __##name##_rn(from x) { return static_cast<to>(x); }                                             \
  inline to __##name##_rz(from x) {                                                                          \
    return stitch_emulated::rounded(FE_TOWARDZERO,                                                           \
                                    [x] { return static_cast<to>(stitch_emulated::opaque(x)); });            \
  }                                                                                                          \
  inline to __##name##_ru(from x) {                                                                          \
    return stitch_emulated::rounded(FE_UPWARD, [x] { return static_cast<to>(stitch_emulated::opaque(x)); }); \
  }                                                                                                          \
  inline to __##name##_rd(from x) {                                                                          \
    return stitch_emulated::rounded(FE_DOWNWARD,                                                             \
                                    [x] { return static_cast<to>(stitch_emulated::opaque(x)); });            \
  }
STITCH_TO_REAL(double, double2float, float)
STITCH_TO_REAL(int, int2float, float)
STITCH_TO_REAL(unsigned, uint2float, float)
STITCH_TO_REAL(long long, ll2float, float)
STITCH_TO_REAL(unsigned long long, ull2float, float)
STITCH_TO_REAL(long long, ll2double, double)
STITCH_TO_REAL(unsigned long long, ull2double, double)
#undef STITCH_TO_REAL
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
