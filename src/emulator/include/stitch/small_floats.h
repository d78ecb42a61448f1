// Encoding of floats below 32 bits: half, bfloat16 and the two fp8 types.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace stitch_emulated {

enum class Rounding : unsigned char { nearest, zero, up, down };

// A format with `Exponent` and `Mantissa` bits. `Finite`: no infinity, and only the all-ones code is NaN
// (e4m3).
template <int Exponent, int Mantissa, bool Finite = false>
struct SmallFloat {
  static constexpr int bits = 1 + Exponent + Mantissa, lowest_exponent = 2 - (1 << (Exponent - 1));
  static constexpr unsigned sign_bit = 1u << (Exponent + Mantissa), not_a_number = sign_bit - 1;
  static constexpr unsigned infinity = ((1u << Exponent) - 1) << Mantissa;
  static constexpr unsigned largest = Finite ? not_a_number - 1 : infinity - 1;

  // `clamp`: too large values become the largest finite one.
  static unsigned encode(double value, Rounding rounding = Rounding::nearest, bool clamp = false) {
    if (value != value) return not_a_number;
    const bool negative = std::signbit(value);
    const unsigned sign = negative ? sign_bit : 0;
    const double magnitude = std::fabs(value);
    const unsigned beyond = clamp ? largest : Finite ? not_a_number : infinity;
    if (std::isinf(magnitude)) return sign | beyond;
    if (magnitude == 0) return sign;
    int exponent = std::ilogb(magnitude);
    if (exponent < lowest_exponent) exponent = lowest_exponent;
    if (exponent > 1 << Exponent) exponent = 1 << Exponent;
    // The code counts units of the last place from the exponent's first code, so that carries, also from
    // subnormal to normal, need no special case.
    const double units = std::ldexp(magnitude, Mantissa - exponent);
    double whole = std::floor(units);
    const double rest = units - whole;
    const bool away = rounding == Rounding::nearest ? rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1)
                      : rounding == Rounding::zero  ? false
                                                    : rest > 0 && (rounding == Rounding::up) != negative;
    whole += away;
    const double code = whole + static_cast<double>((exponent - lowest_exponent) << Mantissa);
    if (code > largest) {
      const bool stays = rounding == Rounding::zero || (rounding == Rounding::up && negative) ||
                         (rounding == Rounding::down && !negative);
      return sign | (stays ? largest : beyond);
    }
    return sign | static_cast<unsigned>(code);
  }

  static float decode(unsigned code) {
    const unsigned magnitude = code & (sign_bit - 1);
    float value;
    if (Finite ? magnitude == not_a_number : magnitude > infinity) {
      value = NAN;
    } else if (!Finite && magnitude == infinity) {
      value = INFINITY;
    } else {
      const int exponent = static_cast<int>(magnitude >> Mantissa);
      const unsigned fraction = magnitude & ((1u << Mantissa) - 1);
      value = exponent ? std::ldexp(static_cast<float>(fraction | 1u << Mantissa),
                                    exponent - 1 + lowest_exponent - Mantissa)
                       : std::ldexp(static_cast<float>(fraction), lowest_exponent - Mantissa);
    }
    return code & sign_bit ? -value : value;
  }
};

using HalfFormat = SmallFloat<5, 10>;
using BfloatFormat = SmallFloat<8, 7>;
using E5m2Format = SmallFloat<5, 2>;
using E4m3Format = SmallFloat<4, 3, true>;

#if defined(__x86_64__) && defined(__F16C__)
// Not <immintrin.h>: it takes half a second per translation unit, two fifths of a small one (g++ 12).
using FourFloats = float __attribute__((vector_size(16)));
using EightHalves = short __attribute__((vector_size(16)));
#endif

// The common conversions, fast. NaNs become CUDA's canonical one.
inline uint16_t half_from_float(float value) {
  if (value != value) return HalfFormat::not_a_number;
#if defined(__aarch64__)
  __fp16 narrow = static_cast<__fp16>(value);
  uint16_t code;
  std::memcpy(&code, &narrow, 2);
  return code;
#elif defined(__x86_64__) && defined(__F16C__)
  return static_cast<uint16_t>(__builtin_ia32_vcvtps2ph(FourFloats{value}, 0)[0]);
#else
  return static_cast<uint16_t>(HalfFormat::encode(value));
#endif
}
inline float float_from_half(uint16_t code) {
#if defined(__aarch64__)
  __fp16 narrow;
  std::memcpy(&narrow, &code, 2);
  return static_cast<float>(narrow);
#elif defined(__x86_64__) && defined(__F16C__)
  return __builtin_ia32_vcvtph2ps(EightHalves{static_cast<short>(code)})[0];
#else
  // Shifted into place the exponent is 112 too small; the product is right for denormals, too.
  const uint32_t magnitude = (code & 0x7fffu) << 13, sign = (code & 0x8000u) << 16;
  float value;
  std::memcpy(&value, &magnitude, 4);
  value *= 0x1p112f;
  uint32_t word;
  std::memcpy(&word, &value, 4);
  if (magnitude >= 0x0f800000u) word = magnitude | 0x7f800000u | (magnitude > 0x0f800000u ? 0x400000u : 0u);
  word |= sign;
  std::memcpy(&value, &word, 4);
  return value;
#endif
}
inline uint16_t bfloat_from_float(float value) {
  if (value != value) return BfloatFormat::not_a_number;
  uint32_t word;
  std::memcpy(&word, &value, 4);
  return static_cast<uint16_t>((word + 0x7FFF + (word >> 16 & 1)) >> 16);
}
inline float float_from_bfloat(uint16_t code) {
  const uint32_t word = static_cast<uint32_t>(code) << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

// a * b + c in double, rounded to odd if inexact, so that rounding again gives the nearest small float.
inline double fused(double a, double b, double c) {
  const double product = a * b;  // exact: two small floats
  const double sum = product + c;
  if (!(std::fabs(sum) < INFINITY)) return sum;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  uint64_t word;
  std::memcpy(&word, &sum, 8);
  if (error == 0 || (word & 1)) return sum;
  return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

}  // namespace stitch_emulated
