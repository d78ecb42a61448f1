// The small floats: every code, and every rounding boundary.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cmath>
#include <vector>

#include "emulator/test_device.h"

namespace stitch::emulated {
namespace {

using stitch_emulated::Rounding;

// The value of a code: (-1)^s 2^(e - bias) 1.m.
double value_of(unsigned code, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int e = static_cast<int>(code >> mantissa_bits & ((1u << exponent_bits) - 1));
  const double m = static_cast<double>(code & ((1u << mantissa_bits) - 1)) / (1 << mantissa_bits);
  const double magnitude = e ? std::pow(2.0, e - bias) * (1 + m) : std::pow(2.0, 1 - bias) * m;
  return code >> (exponent_bits + mantissa_bits) & 1 ? -magnitude : magnitude;
}

// Checks `convert(x, rounding)` between all neighbouring positive codes a < b.
template <class Convert>
void check_rounding(unsigned last, int exponent_bits, int mantissa_bits, Convert convert) {
  for (unsigned a = 0; a < last; ++a) {
    const double low = value_of(a, exponent_bits, mantissa_bits),
                 high = value_of(a + 1, exponent_bits, mantissa_bits);
    const double middle = (low + high) / 2, below = std::nextafter(middle, 0),
                 above = std::nextafter(middle, high);
    const unsigned sign = 1u << (exponent_bits + mantissa_bits);
    ASSERT_EQ(convert(low, Rounding::nearest), a);
    ASSERT_EQ(convert(middle, Rounding::nearest), a % 2 ? a + 1 : a) << "a tie goes to even: " << a;
    ASSERT_EQ(convert(below, Rounding::nearest), a);
    ASSERT_EQ(convert(above, Rounding::nearest), a + 1);
    ASSERT_EQ(convert(-above, Rounding::nearest), sign | (a + 1));
    ASSERT_EQ(convert(above, Rounding::zero), a);
    ASSERT_EQ(convert(below, Rounding::up), a + 1);
    ASSERT_EQ(convert(-below, Rounding::up), sign | a);
    ASSERT_EQ(convert(above, Rounding::down), a);
    ASSERT_EQ(convert(-below, Rounding::down), sign | (a + 1));
  }
}

TEST(Half, EveryCodeHasItsValue) {
  for (unsigned code = 0; code < 65536; ++code) {
    const float got = __half2float(__ushort_as_half(static_cast<unsigned short>(code)));
    if ((code & 0x7fff) > 0x7c00)
      ASSERT_NE(got, got);
    else if ((code & 0x7fff) == 0x7c00)
      ASSERT_EQ(got, code & 0x8000 ? -INFINITY : INFINITY);
    else
      ASSERT_EQ(got, value_of(code, 5, 10));
  }
}
TEST(Half, EveryRoundingBoundary) {
  check_rounding(0x7bff, 5, 10, [](double x, Rounding r) {
    if (r == Rounding::nearest) return static_cast<unsigned>(__half_as_ushort(__double2half(x)));
    return stitch_emulated::HalfFormat::encode(x, r);
  });
}
TEST(Half, FloatsRoundToNearestEven) {
  for (unsigned a = 0; a < 0x7bff; ++a) {
    const float low = static_cast<float>(value_of(a, 5, 10)),
                high = static_cast<float>(value_of(a + 1, 5, 10));
    const float middle = (low + high) / 2;
    ASSERT_EQ(__half_as_ushort(__float2half(middle)), a % 2 ? a + 1 : a);
    ASSERT_EQ(__half_as_ushort(__float2half_rn(std::nextafter(middle, 0.0f))), a);
    ASSERT_EQ(__half_as_ushort(__float2half(std::nextafter(middle, high))), a + 1);
    ASSERT_EQ(__half_as_ushort(__float2half_rz(std::nextafter(high, 0.0f))), a);
    ASSERT_EQ(__half_as_ushort(__float2half_ru(std::nextafter(low, INFINITY))), a + 1);
  }
}
TEST(Half, Overflow) {
  EXPECT_EQ(__half_as_ushort(__float2half(65519.0f)), 0x7bff);
  EXPECT_EQ(__half_as_ushort(__float2half(65520.0f)), 0x7c00);
  EXPECT_EQ(__half_as_ushort(__float2half_rz(1e10f)), 0x7bff);
  EXPECT_EQ(__half_as_ushort(__float2half_rd(1e10f)), 0x7bff);
  EXPECT_EQ(__half_as_ushort(__float2half_ru(-1e10f)), 0xfbff);
  EXPECT_EQ(__half_as_ushort(__float2half(-INFINITY)), 0xfc00);
  EXPECT_EQ(__half_as_ushort(__float2half(NAN)), 0x7fff);
}
TEST(Bfloat, EveryCodeHasItsValue) {
  for (unsigned code = 0; code < 65536; ++code) {
    const float got = __bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(code)));
    if ((code & 0x7fff) > 0x7f80)
      ASSERT_NE(got, got);
    else if ((code & 0x7fff) == 0x7f80)
      ASSERT_EQ(got, code & 0x8000 ? -INFINITY : INFINITY);
    else
      ASSERT_EQ(got, value_of(code, 8, 7));
  }
}
TEST(Bfloat, EveryRoundingBoundary) {
  check_rounding(0x7f7f, 8, 7, [](double x, Rounding r) {
    if (r == Rounding::nearest) return static_cast<unsigned>(__bfloat16_as_ushort(__double2bfloat16(x)));
    return stitch_emulated::BfloatFormat::encode(x, r);
  });
}
TEST(Bfloat, FloatsRoundToNearestEven) {
  for (unsigned a = 0; a < 0x7f7f; ++a) {
    const float low = static_cast<float>(value_of(a, 8, 7)), high = static_cast<float>(value_of(a + 1, 8, 7));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(__bfloat16_as_ushort(__float2bfloat16(middle)), a % 2 ? a + 1 : a);
    ASSERT_EQ(__bfloat16_as_ushort(__float2bfloat16(std::nextafter(middle, 0.0f))), a);
    ASSERT_EQ(__bfloat16_as_ushort(__float2bfloat16(std::nextafter(middle, INFINITY))), a + 1);
  }
}
TEST(Fp8, E4m3EveryCodeAndBoundary) {
  for (unsigned code = 0; code < 256; ++code) {
    __nv_fp8_e4m3 x;
    x.__x = static_cast<unsigned char>(code);
    if ((code & 0x7f) == 0x7f)
      ASSERT_NE(static_cast<float>(x), static_cast<float>(x));
    else
      ASSERT_EQ(static_cast<float>(x), value_of(code, 4, 3));
  }
  check_rounding(0x7e, 4, 3, [](double x, Rounding r) { return stitch_emulated::E4m3Format::encode(x, r); });
}
TEST(Fp8, E5m2EveryCodeAndBoundary) {
  for (unsigned code = 0; code < 256; ++code) {
    __nv_fp8_e5m2 x;
    x.__x = static_cast<unsigned char>(code);
    if ((code & 0x7f) > 0x7c)
      ASSERT_NE(static_cast<float>(x), static_cast<float>(x));
    else if ((code & 0x7f) == 0x7c)
      ASSERT_TRUE(std::isinf(static_cast<float>(x)));
    else
      ASSERT_EQ(static_cast<float>(x), value_of(code, 5, 2));
  }
  check_rounding(0x7b, 5, 2, [](double x, Rounding r) { return stitch_emulated::E5m2Format::encode(x, r); });
}
TEST(Fp8, Saturation) {
  EXPECT_EQ(static_cast<float>(__nv_fp8_e4m3(1000.0f)), 448.0f);
  EXPECT_EQ(static_cast<float>(__nv_fp8_e4m3(-1000.0f)), -448.0f);
  EXPECT_EQ(static_cast<float>(__nv_fp8_e5m2(1e9f)), 57344.0f);
  EXPECT_EQ(__nv_cvt_float_to_fp8(1000.0f, __NV_NOSAT, __NV_E4M3), 0x7f);
  EXPECT_EQ(__nv_cvt_float_to_fp8(1e9f, __NV_NOSAT, __NV_E5M2), 0x7c);
  EXPECT_EQ(__nv_cvt_float_to_fp8(NAN, __NV_SATFINITE, __NV_E4M3), 0x7f);
}
TEST(Fp8, PairsAndQuads) {
  float4 back = static_cast<float4>(__nv_fp8x4_e4m3(float4{1, -2, 0.5f, 448}));
  EXPECT_EQ(back.x, 1);
  EXPECT_EQ(back.y, -2);
  EXPECT_EQ(back.z, 0.5f);
  EXPECT_EQ(back.w, 448);
  float2 two = static_cast<float2>(__nv_fp8x2_e5m2(float2{3, -4}));
  EXPECT_EQ(two.x, 3);
  EXPECT_EQ(two.y, -4);
}

// Each operation is the exact result, rounded once.
template <class T, class Encode>
void check_arithmetic(Encode encode) {
  std::vector<T> values;
  for (float x : {0.0f, -0.0f, 1.0f, -1.0f, 0.333f, 3.14159f, 1e-4f, -2.5e-5f, 1000.3f, 60000.0f, -0.0612f,
                  1.0009765625f})
    values.push_back(T(x));
  for (T a : values)
    for (T b : values) {
      const double x = static_cast<float>(a), y = static_cast<float>(b);
      ASSERT_EQ((a + b).__x, encode(x + y));
      ASSERT_EQ(__hsub(a, b).__x, encode(x - y));
      ASSERT_EQ(__hmul(a, b).__x, encode(x * y));
      if (y != 0) {
        ASSERT_EQ(__hdiv(a, b).__x, encode(x / y));
      }
      ASSERT_EQ(__hlt(a, b), x < y);
      ASSERT_EQ(__hge(a, b), x >= y);
      ASSERT_EQ(__hne(a, b), x != y);
      ASSERT_EQ(static_cast<float>(__hmax(a, b)), std::fmax(x, y));
      for (T c : values) {
        const long double exact = static_cast<long double>(x) * y + static_cast<float>(c);
        ASSERT_EQ(static_cast<float>(__hfma(a, b, c)), static_cast<float>(T(static_cast<double>(exact))));
      }
    }
}
TEST(Half, ArithmeticRoundsOnce) {
  check_arithmetic<__half>([](double x) { return stitch_emulated::HalfFormat::encode(x); });
}
TEST(Bfloat, ArithmeticRoundsOnce) {
  check_arithmetic<__nv_bfloat16>([](double x) { return stitch_emulated::BfloatFormat::encode(x); });
}
TEST(Bfloat, FusedMultiplyAddSeesWhatLiesBeyondADouble) {
  // 1 + 2^-8 is a tie between two bfloat16; adding 2^-60 breaks it upwards.
  const __nv_bfloat16 a(1.0f + 0x1p-4f), b(1.0f - 0x1p-4f + 0x1p-7f * 0), tiny(0x1p-100f);
  const double product = static_cast<double>(static_cast<float>(a)) * static_cast<float>(b);  // 1 - 2^-8
  EXPECT_EQ(product, 1 - 0x1p-8);
  const __nv_bfloat16 m(1.0f + 0x1p-7f), n(1.5f);  // 1.5 + 3 * 2^-8: a tie
  EXPECT_EQ(static_cast<float>(__hfma(m, n, __nv_bfloat16(0.0f))), 1.5f + 2 * 0x1p-7f);
  EXPECT_EQ(static_cast<float>(__hfma(m, n, tiny)), 1.5f + 2 * 0x1p-7f);
  EXPECT_EQ(static_cast<float>(__hfma(m, n, -tiny)), 1.5f + 0x1p-7f);
}
TEST(Half, NaNsCompareAsNamed) {
  const __half n(NAN), one(1.0f);
  EXPECT_FALSE(__heq(n, n));
  EXPECT_TRUE(__hequ(n, one));
  EXPECT_FALSE(__hne(n, one));
  EXPECT_TRUE(__hneu(n, one));
  EXPECT_TRUE(__hltu(n, one));
  EXPECT_EQ(static_cast<float>(__hmax(n, one)), 1.0f);
  EXPECT_TRUE(__hisnan(__hmax_nan(n, one)));
  EXPECT_EQ(__hisinf(__half(-INFINITY)), -1);
}
TEST(Half, PairsDoTwoAtOnce) {
  const __half2 a = __floats2half2_rn(1.5f, -2.0f), b = __float2half2_rn(2.0f);
  EXPECT_EQ(__low2float(__hmul2(a, b)), 3.0f);
  EXPECT_EQ(__high2float(__hadd2(a, b)), 0.0f);
  EXPECT_EQ(__high2float(__hfma2(a, b, a)), -6.0f);
  EXPECT_EQ(__low2float(__lowhigh2highlow(a)), -2.0f);
  EXPECT_EQ(__hlt2_mask(a, b), 0xffffffffu);
  EXPECT_EQ(__hgt2_mask(a, __float2half2_rn(0.0f)), 0x0000ffffu);
  EXPECT_EQ(__high2float(__hgt2(a, __float2half2_rn(0.0f))), 0.0f);
  EXPECT_TRUE(__hblt2(a, b));
  EXPECT_EQ(__high2float(__habs2(a)), 2.0f);
  EXPECT_EQ(__high2float(__hfma2_relu(a, b, a)), 0.0f);
  EXPECT_EQ(__half22float2(a).y, -2.0f);
}
TEST(Half, FunctionsRoundTheExactValue) {
  for (float x : {0.1f, 0.5f, 1.0f, 2.0f, 9.0f}) {
    const __half h(x);
    const double v = static_cast<float>(h);
    EXPECT_EQ(static_cast<float>(hexp(h)), static_cast<float>(__half(std::exp(v))));
    EXPECT_EQ(static_cast<float>(hlog(h)), static_cast<float>(__half(std::log(v))));
    EXPECT_EQ(static_cast<float>(hsqrt(h)), static_cast<float>(__half(std::sqrt(v))));
    EXPECT_EQ(static_cast<float>(hrsqrt(h)), static_cast<float>(__half(1 / std::sqrt(v))));
    EXPECT_EQ(static_cast<float>(htanh(h)), static_cast<float>(__half(std::tanh(v))));
    EXPECT_EQ(static_cast<float>(hrcp(h)), static_cast<float>(__half(1 / v)));
  }
}
TEST(Half, IntegersConvert) {
  EXPECT_EQ(__half2int_rn(__half(2.5f)), 2);
  EXPECT_EQ(__half2int_ru(__half(2.1f)), 3);
  EXPECT_EQ(__half2short_rz(__half(-7.9f)), -7);
  EXPECT_EQ(static_cast<float>(__int2half_rn(2049)), 2048.0f);
  EXPECT_EQ(static_cast<float>(__int2half_ru(2049)), 2050.0f);
  EXPECT_EQ(__bfloat162int_rz(__nv_bfloat16(-3.5f)), -3);
}

}  // namespace
}  // namespace stitch::emulated
