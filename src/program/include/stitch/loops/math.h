// Pointwise functions at full accuracy in float or double, as the graph defines them: NaN propagates,
// integers wrap to their stored width.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace stitch {
// The standard functions, under the double's name for both types.
#define STITCH_OF_BOTH(name)                                                 \
  __device__ __forceinline__ float name##_of(float x) { return name##f(x); } \
  __device__ __forceinline__ double name##_of(double x) { return name(x); }
STITCH_OF_BOTH(exp)
STITCH_OF_BOTH(expm1)
STITCH_OF_BOTH(log)
STITCH_OF_BOTH(log1p)
STITCH_OF_BOTH(sqrt)
STITCH_OF_BOTH(tanh)
STITCH_OF_BOTH(erfc)
STITCH_OF_BOTH(floor)
STITCH_OF_BOTH(trunc)
STITCH_OF_BOTH(fabs)
#undef STITCH_OF_BOTH
__device__ __forceinline__ float fmod_of(float a, float b) { return fmodf(a, b); }
__device__ __forceinline__ double fmod_of(double a, double b) { return fmod(a, b); }
__device__ __forceinline__ float pow_of(float a, float b) { return powf(a, b); }
__device__ __forceinline__ double pow_of(double a, double b) { return pow(a, b); }

template <class T>
__device__ __forceinline__ T sign(T x) {
  return static_cast<T>((x > T(0)) - (x < T(0)));
}
template <class T>
__device__ __forceinline__ bool has_sign_bit(T x) {
  return signbit(x) != 0;
}
// Written so that NaN propagates: every comparison with it is false.
template <class T>
__device__ __forceinline__ T relu(T x) {
  return x <= T(0) ? T(0) : x;
}
template <class T>
__device__ __forceinline__ T clamp(T x, T low, T high) {
  T raised = x < low ? low : x;
  return raised > high ? high : raised;
}
template <class T>
__device__ __forceinline__ T minimum(T a, T b) {
  return a <= b ? a : b;
}
template <class T>
__device__ __forceinline__ T maximum(T a, T b) {
  return a >= b ? a : b;
}
// NaN propagates; 0 is larger than -0.
__device__ __forceinline__ double minimum(double a, double b) {
  if (a == b) return signbit(a) ? a : b;
  return a != a || a < b ? a : b;
}
__device__ __forceinline__ double maximum(double a, double b) {
  if (a == b) return signbit(a) ? b : a;
  return a != a || a > b ? a : b;
}
#if STITCH_EMULATED
__device__ __forceinline__ float minimum(float a, float b) {
  return static_cast<float>(minimum(static_cast<double>(a), static_cast<double>(b)));
}
__device__ __forceinline__ float maximum(float a, float b) {
  return static_cast<float>(maximum(static_cast<double>(a), static_cast<double>(b)));
}
#else
// In one instruction.
__device__ __forceinline__ float minimum(float a, float b) {
  float out;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(out) : "f"(a), "f"(b));
  return out;
}
__device__ __forceinline__ float maximum(float a, float b) {
  float out;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(out) : "f"(a), "f"(b));
  return out;
}
#endif
__device__ __forceinline__ float clamp(float x, float low, float high) {
  return minimum(maximum(x, low), high);
}
__device__ __forceinline__ double clamp(double x, double low, double high) {
  return minimum(maximum(x, low), high);
}

// Division by numbers of at least 1, such as 1 + e^x: within 2 ulp, in a quarter of the instructions of an
// exact division.
__device__ __forceinline__ float share_of(float x, float whole) { return __fdividef(x, whole); }
__device__ __forceinline__ double share_of(double x, double whole) { return x / whole; }

template <class T>
__device__ __forceinline__ T sigmoid(T x) {
  return share_of(T(1), T(1) + exp_of(-x));
}
template <class T>
__device__ __forceinline__ T silu(T x) {
  return share_of(x, T(1) + exp_of(-x));
}
// erfc avoids the cancellation of 1 + erf for large negative x.
__device__ __forceinline__ double gelu(double x) { return 0.5 * x * erfc(x * -0.70710678118654752440); }
// In float erfc alone would take longer than the memory traffic; the loss is one rounding of x.
__device__ __forceinline__ float gelu(float x) {
  float half = 0.5f * x;
  return half + half * erff(x * 0.70710678118654752440f);
}
template <class T>
__device__ __forceinline__ T gelu_tanh(T x) {
  return T(0.5) * x * (T(1) + tanh_of(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
}
// x tanh(log(1 + n)) with n = e^x is x (n^2 + 2n) / (n^2 + 2n + 2): one exponential, no cancellation; x
// itself from 20 on.
template <class T>
__device__ __forceinline__ T mish(T x) {
  T n = exp_of(x < T(20) ? x : T(20)), m = n * (n + T(2));
  return x * share_of(m, m + T(2));
}
// log(1 + e) for 0 <= e <= 1. In float 2 artanh(e / (2 + e)) by a short series, exact to the last digits.
__device__ __forceinline__ double log_of_one_and(double e) { return log1p(e); }
__device__ __forceinline__ float log_of_one_and(float e) {
  float s = share_of(e, 2.0f + e), square = s * s;
  float series = 1.0f / 15.0f;
  series = series * square + 1.0f / 13.0f;
  series = series * square + 1.0f / 11.0f;
  series = series * square + 1.0f / 9.0f;
  series = series * square + 1.0f / 7.0f;
  series = series * square + 1.0f / 5.0f;
  series = series * square + 1.0f / 3.0f;
  return 2.0f * s + 2.0f * s * square * series;
}
template <class T>
__device__ __forceinline__ T softplus(T x, T beta, T threshold) {
  T scaled = beta * x;
  T raised = (scaled > T(0) ? scaled : T(0)) + log_of_one_and(exp_of(-fabs_of(scaled)));
  return scaled > threshold ? x : raised / beta;
}
template <class T>
__device__ __forceinline__ T elu(T x, T alpha, T scale, T input_scale) {
  return x <= T(0) ? scale * alpha * expm1_of(input_scale * x) : scale * x;
}
template <class T>
__device__ __forceinline__ T hardsigmoid(T x) {
  return clamp(x + T(3), T(0), T(6)) * T(1.0 / 6);
}
template <class T>
__device__ __forceinline__ T hardswish(T x) {
  return x * clamp(x + T(3), T(0), T(6)) * T(1.0 / 6);
}

// Rounded down; exact if the quotient is.
template <class T>
__device__ __forceinline__ T floor_divide(T a, T b) {
  if (b == T(0)) return a / b;
  T rest = fmod_of(a, b), quotient = (a - rest) / b;
  if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient -= T(1);
  if (quotient == T(0)) return a / b < T(0) ? T(-0.0) : T(0);
  T rounded = floor_of(quotient);
  return quotient - rounded > T(0.5) ? rounded + T(1) : rounded;
}
// With the sign of b, like Python's %.
template <class T>
__device__ __forceinline__ T remainder(T a, T b) {
  T rest = fmod_of(a, b);
  return rest != T(0) && (b < T(0)) != (rest < T(0)) ? rest + b : rest;
}

// By reflection to positive x, recurrence to x >= 10, and the asymptotic series.
template <class T>
__device__ __forceinline__ T digamma(T given) {
  double x = given, sum = 0;
  if (x == 0) return static_cast<T>(-1 / x);
  if (x < 0) {
    double part = x - trunc(x);
    if (part != part || part == 0) return static_cast<T>(NAN);  // infinite or integer
    sum = -3.14159265358979323846 / tan(3.14159265358979323846 * part);
    x = 1 - x;
  }
  for (; x < 10; x += 1) sum -= 1 / x;
  double square = 1 / (x * x), series = 1.0 / 12;
  series = series * square - 691.0 / 32760;
  series = series * square + 1.0 / 132;
  series = series * square - 1.0 / 240;
  series = series * square + 1.0 / 252;
  series = series * square - 1.0 / 120;
  series = series * square + 1.0 / 12;
  return static_cast<T>(sum + log(x) - 0.5 / x - series * square);
}

// Integers, in 64 bits and then wrapped to S; unsigned, so that overflow wraps.
template <class S>
__device__ __forceinline__ S wrapped(int64_t x) {
  return static_cast<S>(x);
}
template <class S>
__device__ __forceinline__ S wrapped_add(int64_t a, int64_t b) {
  return static_cast<S>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class S>
__device__ __forceinline__ S wrapped_sub(int64_t a, int64_t b) {
  return static_cast<S>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <class S>
__device__ __forceinline__ S wrapped_mul(int64_t a, int64_t b) {
  return static_cast<S>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
// b is not 0; the one quotient that overflows wraps.
__device__ __forceinline__ int64_t integer_divide(int64_t a, int64_t b) {
  return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : b == 0 ? 0 : a / b;
}
__device__ __forceinline__ int64_t integer_fmod(int64_t a, int64_t b) {
  return b == -1 || b == 0 ? 0 : a % b;
}
__device__ __forceinline__ int64_t integer_floor_divide(int64_t a, int64_t b) {
  int64_t rest = integer_fmod(a, b);
  return integer_divide(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}
__device__ __forceinline__ int64_t integer_remainder(int64_t a, int64_t b) {
  int64_t rest = integer_fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
__device__ __forceinline__ int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1, square *= square)
    if (exponent & 1) result *= square;
  return static_cast<int64_t>(result);
}
// Shifts by more than the width give the result of shifting bit by bit.
template <class S>
__device__ __forceinline__ S shifted_left(int64_t a, int64_t b) {
  return b < 0 || b >= static_cast<int64_t>(8 * sizeof(S)) ? S(0)
                                                           : static_cast<S>(static_cast<uint64_t>(a) << b);
}
template <class S>
__device__ __forceinline__ S shifted_right(int64_t a, int64_t b) {
  return static_cast<S>(a >> (b < 0 || b >= static_cast<int64_t>(8 * sizeof(S)) ? 63 : b));
}

// An index out of range traps, as PyTorch's device asserts do; nothing is read.
__device__ __forceinline__ int64_t checked_index(int64_t index, int64_t size) {
  if (index < 0 || index >= size) __trap();
  return index;
}
__device__ __forceinline__ int64_t index_from_start(int64_t index, int64_t size) {
  return checked_index(index < 0 ? index + size : index, size);
}
// The same without a branch, for loops whose loads must not wait: an index out of range is noted and becomes
// 0.
__device__ __forceinline__ int64_t index_or_note(int64_t index, int64_t size, bool& outside) {
  const bool inside = index >= 0 && index < size;
  outside = outside || !inside;
  return inside ? index : 0;
}
__device__ __forceinline__ int64_t index_from_start_or_note(int64_t index, int64_t size, bool& outside) {
  return index_or_note(index < 0 ? index + size : index, size, outside);
}

// Truncates; NaN becomes 0, 64 and 32 bits saturate, narrower types wrap.
template <class S, class T>
__device__ __forceinline__ S to_integer(T x) {
  if (x != x) return 0;
  if constexpr (sizeof(S) == 4) {
    if (x <= T(-0x1p31)) return INT32_MIN;
    if (x >= T(0x1p31)) return INT32_MAX;
    return static_cast<S>(x);
  } else {
    if (x <= T(-0x1p63)) return static_cast<S>(INT64_MIN);
    if (x >= T(0x1p63)) return static_cast<S>(INT64_MAX);
    return static_cast<S>(static_cast<int64_t>(x));
  }
}

// Keys' kernel with A = -0.75.
template <class T>
__device__ __forceinline__ T cubic_weight(T distance) {
  constexpr T a = T(-0.75);
  T x = fabs_of(distance);
  return x <= T(1) ? ((a + T(2)) * x - (a + T(3))) * x * x + T(1)
                   : ((a * x - T(5) * a) * x + T(8) * a) * x - T(4) * a;
}

template <class T>
__device__ __forceinline__ T log_add_exp(T a, T b) {
  if (a != a || b != b) return a + b;
  T less = a < b ? a : b, more = a < b ? b : a;
  if (less == more && less - more != less - more) return less;  // inf - inf would be NaN
  return more + log1p_of(exp_of(less - more));
}

}  // namespace stitch
