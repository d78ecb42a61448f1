// CUDA's math beyond <cmath>. Fast intrinsics return the exact function's value; their error is not emulated.
#pragma once

#include <cmath>

#include "stitch/bits.h"
#include "stitch/conversions.h"
#include "stitch/core.h"

// CUDA has these in the global namespace for every arithmetic type.
using std::abs;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

#define STITCH_MIN_MAX(type)                                   \
  constexpr type min(type a, type b) { return b < a ? b : a; } \
  constexpr type max(type a, type b) { return a < b ? b : a; }
STITCH_MIN_MAX(int)
STITCH_MIN_MAX(unsigned)
STITCH_MIN_MAX(long)
STITCH_MIN_MAX(unsigned long)
STITCH_MIN_MAX(long long)
STITCH_MIN_MAX(unsigned long long)
#undef STITCH_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
// Mixed types follow C++'s usual arithmetic conversions.
#define STITCH_MIXED(a, b, common)                                                            \
  inline common min(a x, b y) { return min(static_cast<common>(x), static_cast<common>(y)); } \
  inline common max(a x, b y) { return max(static_cast<common>(x), static_cast<common>(y)); } \
  inline common min(b x, a y) { return min(static_cast<common>(x), static_cast<common>(y)); } \
  inline common max(b x, a y) { return max(static_cast<common>(x), static_cast<common>(y)); }
STITCH_MIXED(int, unsigned, unsigned)
STITCH_MIXED(int, long, long)
STITCH_MIXED(int, unsigned long, unsigned long)
STITCH_MIXED(int, long long, long long)
STITCH_MIXED(int, unsigned long long, unsigned long long)
STITCH_MIXED(unsigned, long, long)
STITCH_MIXED(unsigned, unsigned long, unsigned long)
STITCH_MIXED(unsigned, long long, long long)
STITCH_MIXED(unsigned, unsigned long long, unsigned long long)
STITCH_MIXED(long, unsigned long, unsigned long)
STITCH_MIXED(long long, unsigned long long, unsigned long long)
STITCH_MIXED(float, double, double)
STITCH_MIXED(int, float, float)
STITCH_MIXED(int, double, double)
#undef STITCH_MIXED
inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }
inline long long llmin(long long a, long long b) { return min(a, b); }
inline long long llmax(long long a, long long b) { return max(a, b); }

inline float rsqrtf(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline float fdividef(float x, float y) { return x / y; }
inline float sinpif(float x) {
  return static_cast<float>(std::sin(M_PI * std::fmod(static_cast<double>(x), 2.0)));
}
inline float cospif(float x) {
  return static_cast<float>(std::cos(M_PI * std::fmod(static_cast<double>(x), 2.0)));
}
inline double sinpi(double x) { return std::sin(M_PI * std::fmod(x, 2.0)); }
inline double cospi(double x) { return std::cos(M_PI * std::fmod(x, 2.0)); }
inline void sincospif(float x, float* s, float* c) {
  *s = sinpif(x);
  *c = cospif(x);
}
inline float normcdff(float x) {
  return static_cast<float>(0.5 * std::erfc(-static_cast<double>(x) * M_SQRT1_2));
}
inline double normcdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }
// By bisection: as exact as erf, and slow.
inline double erfinv(double y) {
  if (!(std::fabs(y) < 1)) return std::fabs(y) == 1 ? y * INFINITY : NAN;
  double low = 0, high = 6, target = std::fabs(y);
  for (int i = 0; i < 60; ++i) {
    double middle = 0.5 * (low + high);
    (target < 0.5 ? std::erf(middle) < target : std::erfc(middle) > 1 - target) ? low = middle
                                                                                : high = middle;
  }
  return y == 0 ? y : std::copysign(0.5 * (low + high), y);
}
inline float erfinvf(float y) { return static_cast<float>(erfinv(static_cast<double>(y))); }
inline float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }
inline float norm3df(float x, float y, float z) { return sqrtf(x * x + y * y + z * z); }
inline float norm4df(float x, float y, float z, float w) { return sqrtf(x * x + y * y + z * z + w * w); }
inline float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }

inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return powf(10.0f, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline void __sincosf(float x, float* s, float* c) {
  *s = sinf(x);
  *c = cosf(x);
}
// As documented: a divisor beyond 2^126 gives 0.
inline float __fdividef(float x, float y) {
  return std::fabs(y) > 0x1p126f && std::fabs(y) < INFINITY ? (std::isinf(x) ? NAN : 0.0f) : x / y;
}
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }  // NaN gives 0
inline float __frsqrt_rn(float x) { return rsqrtf(x); }

// One operation in CUDA's four rounding modes.
#define STITCH_ROUNDED(name, type, arguments, capture, expression)                    \
  inline type name##_rn arguments { return expression; }                              \
  inline type name##_rz arguments {                                                   \
    return stitch_emulated::rounded(FE_TOWARDZERO, [capture] { return expression; }); \
  }                                                                                   \
  inline type name##_ru arguments {                                                   \
    return stitch_emulated::rounded(FE_UPWARD, [capture] { return expression; });     \
  }                                                                                   \
  inline type name##_rd arguments {                                                   \
    return stitch_emulated::rounded(FE_DOWNWARD, [capture] { return expression; });   \
  }
STITCH_ROUNDED(__fadd, float, (float a, float b), =, stitch_emulated::opaque(a) + b)
STITCH_ROUNDED(__fsub, float, (float a, float b), =, stitch_emulated::opaque(a) - b)
STITCH_ROUNDED(__fmul, float, (float a, float b), =, stitch_emulated::opaque(stitch_emulated::opaque(a) * b))
STITCH_ROUNDED(__fdiv, float, (float a, float b), =, stitch_emulated::opaque(a) / b)
STITCH_ROUNDED(__fmaf, float, (float a, float b, float c), =, std::fma(stitch_emulated::opaque(a), b, c))
STITCH_ROUNDED(__frcp, float, (float a), =, 1.0f / stitch_emulated::opaque(a))
STITCH_ROUNDED(__fsqrt, float, (float a), =, std::sqrt(stitch_emulated::opaque(a)))
STITCH_ROUNDED(__dadd, double, (double a, double b), =, stitch_emulated::opaque(a) + b)
STITCH_ROUNDED(__dsub, double, (double a, double b), =, stitch_emulated::opaque(a) - b)
STITCH_ROUNDED(__dmul, double, (double a, double b), =,
               stitch_emulated::opaque(stitch_emulated::opaque(a) * b))
STITCH_ROUNDED(__ddiv, double, (double a, double b), =, stitch_emulated::opaque(a) / b)
STITCH_ROUNDED(__fma, double, (double a, double b, double c), =, std::fma(stitch_emulated::opaque(a), b, c))
STITCH_ROUNDED(__drcp, double, (double a), =, 1.0 / stitch_emulated::opaque(a))
STITCH_ROUNDED(__dsqrt, double, (double a), =, std::sqrt(stitch_emulated::opaque(a)))
#undef STITCH_ROUNDED

// tf32: 10 bits of mantissa, ties away from zero, as cvt.rna.tf32.f32.
inline float __float_to_tf32(float x) {
  unsigned bits = __float_as_uint(x);
  if ((bits & 0x7F800000u) == 0x7F800000u) return x;
  return __uint_as_float((bits + 0x1000u) & 0xFFFFE000u);
}
