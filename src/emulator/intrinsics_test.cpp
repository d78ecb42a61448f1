// Integer and float intrinsics, called on the host.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stitch::emulated {
namespace {

constexpr unsigned samples[] = {0u,          1u,          2u,          0x7fffffffu, 0x80000000u,
                                0xffffffffu, 0x12345678u, 0xdeadbeefu, 0x00ff00ffu};

TEST(Bits, CountAndFind) {
  for (unsigned x : samples) {
    int ones = 0, leading = 32, first = 0;
    for (int i = 0; i < 32; ++i) {
      ones += x >> i & 1;
      if (x >> i & 1) leading = 31 - i;
      if ((x >> i & 1) && !first) first = i + 1;
    }
    EXPECT_EQ(__popc(x), ones);
    EXPECT_EQ(__clz(static_cast<int>(x)), leading);
    EXPECT_EQ(__ffs(static_cast<int>(x)), first);
    EXPECT_EQ(__popcll(static_cast<unsigned long long>(x) << 32 | x), 2 * ones);
    EXPECT_EQ(__clzll(static_cast<long long>(x)), 32 + leading);
    EXPECT_EQ(__ffsll(static_cast<long long>(static_cast<unsigned long long>(x) << 32)),
              first ? first + 32 : 0);
  }
}
TEST(Bits, Reverse) {
  for (unsigned x : samples) {
    unsigned want = 0;
    for (int i = 0; i < 32; ++i) want |= (x >> i & 1) << (31 - i);
    EXPECT_EQ(__brev(x), want);
    EXPECT_EQ(__brevll(x), static_cast<unsigned long long>(want) << 32);
  }
}
TEST(Bits, BytePermute) {
  EXPECT_EQ(__byte_perm(0x33221100, 0x77665544, 0x3210), 0x33221100u);
  EXPECT_EQ(__byte_perm(0x33221100, 0x77665544, 0x7654), 0x77665544u);
  EXPECT_EQ(__byte_perm(0x33221100, 0x77665544, 0x0167), 0x00116677u);
  EXPECT_EQ(__byte_perm(0x800000ff, 0, 0xB988), 0xff00ffffu);
}
TEST(Bits, FunnelShifts) {
  for (unsigned lo : samples)
    for (unsigned hi : samples)
      for (unsigned s : {0u, 1u, 7u, 31u, 32u, 33u, 100u}) {
        const unsigned w = s & 31, c = s < 32 ? s : 32;
        auto left = [&](unsigned n) { return n == 0 ? hi : n == 32 ? lo : hi << n | lo >> (32 - n); };
        auto right = [&](unsigned n) { return n == 0 ? lo : n == 32 ? hi : lo >> n | hi << (32 - n); };
        EXPECT_EQ(__funnelshift_l(lo, hi, s), left(w));
        EXPECT_EQ(__funnelshift_lc(lo, hi, s), left(c));
        EXPECT_EQ(__funnelshift_r(lo, hi, s), right(w));
        EXPECT_EQ(__funnelshift_rc(lo, hi, s), right(c));
      }
}
TEST(Bits, Products) {
  EXPECT_EQ(__umulhi(0xffffffffu, 0xffffffffu), 0xfffffffeu);
  EXPECT_EQ(__mulhi(-1, 1), -1);
  EXPECT_EQ(__mulhi(0x40000000, 8), 2);
  EXPECT_EQ(__umul64hi(~0ull, ~0ull), ~0ull - 1);
  EXPECT_EQ(__mul64hi(-1, 1), -1);
  EXPECT_EQ(__mul24(0x01000002, 3), 6);
  EXPECT_EQ(__mul24(-2, 3), -6);
  EXPECT_EQ(__umul24(0xff000002u, 3), 6u);
  EXPECT_EQ(__sad(-5, 7, 100), 112u);
  EXPECT_EQ(__usad(7, 5, 1), 3u);
  EXPECT_EQ(__hadd(3, 4), 3);
  EXPECT_EQ(__rhadd(3, 4), 4);
  EXPECT_EQ(__uhadd(0xffffffffu, 1u), 0x80000000u);
}
TEST(Bits, DotProducts) {
  EXPECT_EQ(__dp4a(0x01020304, 0x01010101, 10), 20);
  EXPECT_EQ(__dp4a(static_cast<int>(0xff010203u), 0x01010101, 0), 5);
  EXPECT_EQ(__dp4a(0xff010203u, 0x01010101u, 0u), 261u);
  EXPECT_EQ(__dp2a_lo(0x00020003, 0x0000'0405, 1), 1 + 3 * 5 + 2 * 4);
  EXPECT_EQ(__dp2a_hi(0x00020003, 0x0405'0000, 1), 1 + 3 * 5 + 2 * 4);
}
TEST(Bits, Reinterpret) {
  EXPECT_EQ(__float_as_int(1.0f), 0x3f800000);
  EXPECT_EQ(__int_as_float(0x40000000), 2.0f);
  EXPECT_EQ(__float_as_uint(-0.0f), 0x80000000u);
  EXPECT_EQ(__uint_as_float(0xbf800000u), -1.0f);
  EXPECT_EQ(__double_as_longlong(1.0), 0x3ff0000000000000ll);
  EXPECT_EQ(__hiloint2double(__double2hiint(3.25), __double2loint(3.25)), 3.25);
}
TEST(Conversions, RoundAsNamed) {
  for (float x : {-2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 2.4f, -2.6f}) {
    EXPECT_EQ(__float2int_rn(x), static_cast<int>(std::nearbyint(x)));
    EXPECT_EQ(__float2int_rz(x), static_cast<int>(std::trunc(x)));
    EXPECT_EQ(__float2int_ru(x), static_cast<int>(std::ceil(x)));
    EXPECT_EQ(__float2int_rd(x), static_cast<int>(std::floor(x)));
    EXPECT_EQ(__double2ll_rd(x), static_cast<long long>(std::floor(x)));
  }
}
TEST(Conversions, Saturate) {
  EXPECT_EQ(__float2int_rn(1e20f), std::numeric_limits<int>::max());
  EXPECT_EQ(__float2int_rn(-1e20f), std::numeric_limits<int>::min());
  EXPECT_EQ(__float2int_rn(NAN), 0);
  EXPECT_EQ(__float2uint_rn(-3.0f), 0u);
  EXPECT_EQ(__float2uint_rz(4e9f), 4000000000u);
  EXPECT_EQ(__float2uint_rz(INFINITY), 0xffffffffu);
  EXPECT_EQ(__float2ll_rz(1e30f), std::numeric_limits<long long>::max());
  EXPECT_EQ(__double2int_rn(NAN), std::numeric_limits<int>::min());
}
TEST(Conversions, ToFloatWithDirections) {
  const int x = 16777217;  // between two floats
  EXPECT_EQ(__int2float_rn(x), 16777216.0f);
  EXPECT_EQ(__int2float_rz(x), 16777216.0f);
  EXPECT_EQ(__int2float_ru(x), 16777218.0f);
  EXPECT_EQ(__int2float_rd(-x), -16777218.0f);
  EXPECT_EQ(__double2float_ru(0.1), std::nextafter(0.1f, 0.0f) < 0.1 ? 0.1f : 0.1f);
  EXPECT_LE(__double2float_rd(0.1), 0.1);
  EXPECT_GE(__double2float_ru(0.1), 0.1);
}
TEST(Math, DirectedRoundingBracketsTheExactValue) {
  for (float a : {1.0f, 0.1f, 3.0f, 1e-8f, 123456.7f})
    for (float b : {3.0f, 0.3f, 7.0f, 1e5f}) {
      const double sum = static_cast<double>(a) + b, product = static_cast<double>(a) * b,
                   ratio = static_cast<double>(a) / b;
      EXPECT_LE(__fadd_rd(a, b), sum);
      EXPECT_GE(__fadd_ru(a, b), sum);
      EXPECT_LE(__fmul_rz(a, b), product);
      EXPECT_GE(__fmul_ru(a, b), product);
      EXPECT_LE(__fdiv_rd(a, b), ratio);
      EXPECT_GE(__fdiv_ru(a, b), ratio);
      EXPECT_EQ(__fmaf_rn(a, b, 1.0f), std::fma(a, b, 1.0f));
      EXPECT_EQ(__fmul_rn(a, b), static_cast<float>(product));
    }
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}
TEST(Math, FastFunctions) {
  EXPECT_FLOAT_EQ(__expf(1.5f), std::exp(1.5f));
  EXPECT_FLOAT_EQ(__logf(1.5f), std::log(1.5f));
  EXPECT_FLOAT_EQ(__powf(1.5f, 3.0f), 3.375f);
  EXPECT_FLOAT_EQ(__sinf(0.5f), std::sin(0.5f));
  EXPECT_FLOAT_EQ(rsqrtf(4.0f), 0.5f);
  EXPECT_FLOAT_EQ(__frcp_rn(4.0f), 0.25f);
  EXPECT_FLOAT_EQ(__fsqrt_rn(2.0f), std::sqrt(2.0f));
  EXPECT_FLOAT_EQ(sinpif(0.5f), 1.0f);
  EXPECT_FLOAT_EQ(normcdff(0.0f), 0.5f);
  EXPECT_EQ(__fdividef(1.0f, 2.0f), 0.5f);
  EXPECT_EQ(__fdividef(1.0f, 0x1.8p126f), 0.0f);
}
TEST(Math, Saturate) {
  EXPECT_EQ(__saturatef(-1), 0);
  EXPECT_EQ(__saturatef(0.25f), 0.25f);
  EXPECT_EQ(__saturatef(7), 1);
  EXPECT_EQ(__saturatef(NAN), 0);
}
TEST(Math, MinAndMaxOfAllKinds) {
  EXPECT_EQ(::min(3, 4), 3);
  EXPECT_EQ(::max(3u, 4u), 4u);
  EXPECT_EQ(::min(3, 4u), 3u);
  EXPECT_EQ(::max(3ll, 4), 4ll);
  EXPECT_EQ(::max(NAN, 4.0f), 4.0f);
  EXPECT_EQ(::min(2.5f, 4.0), 2.5);
  size_t n = 9;
  EXPECT_EQ(::min(n, size_t{4}), 4u);
}
TEST(Math, Tf32KeepsTenBits) {
  EXPECT_EQ(__float_to_tf32(1.0f), 1.0f);
  EXPECT_EQ(__float_to_tf32(1.0f + 0x1p-11f), 1.0f + 0x1p-10f);  // a tie goes away from zero
  EXPECT_EQ(__float_to_tf32(1.0f + 0x1p-12f), 1.0f);
  EXPECT_EQ(__float_to_tf32(-1.0f - 0x1p-11f), -1.0f - 0x1p-10f);
  EXPECT_TRUE(std::isnan(__float_to_tf32(NAN)));
  EXPECT_EQ(__float_to_tf32(INFINITY), INFINITY);
}
TEST(Vectors, AlignmentsAreCudas) {
  EXPECT_EQ(alignof(float4), 16u);
  EXPECT_EQ(alignof(float3), 4u);
  EXPECT_EQ(alignof(float2), 8u);
  EXPECT_EQ(alignof(double2), 16u);
  EXPECT_EQ(alignof(double4), 16u);
  EXPECT_EQ(alignof(uchar4), 4u);
  EXPECT_EQ(alignof(short2), 4u);
  EXPECT_EQ(sizeof(float3), 12u);
  EXPECT_EQ(make_int4(1, 2, 3, 4).w, 4);
  EXPECT_EQ(dim3(5).y, 1u);
}

}  // namespace
}  // namespace stitch::emulated
