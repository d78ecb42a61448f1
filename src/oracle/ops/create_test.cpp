#include "oracle/philox.h"

#include <algorithm>

#include "oracle/testing.h"

namespace stitch::oracle {
namespace {

// From Random123's kat_vectors.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

Tensor random(const char* kind, DType dtype, double a, double b, int64_t count, int64_t stream = 0,
              double seed = 7) {
  return apply(Op::random, {longs({}, {seed})},
               {{"shape", Ints{count}},
                {"dtype", dtype},
                {"distribution", std::string(kind)},
                {"a", a},
                {"b", b},
                {"stream", stream}});
}

TEST(Random, DependsOnSeedStreamAndIndexOnly) {
  Numbers few = values(random("uniform", DType::f32, 0, 1, 5)),
          many = values(random("uniform", DType::f32, 0, 1, 50000));
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  EXPECT_NE(few, values(random("uniform", DType::f32, 0, 1, 5, 1)));
  EXPECT_NE(few, values(random("uniform", DType::f32, 0, 1, 5, 0, 8)));
  for (double x : many) EXPECT_EQ(x, static_cast<float>(x));  // 24 bits: exact in float
}

TEST(Random, Moments) {
  auto moments = [](const Tensor& x) {
    Tensor wide = apply(Op::cast, {x}, {{"dtype", DType::f64}});
    return std::pair{values(apply(Op::mean, {wide}))[0], values(apply(Op::var, {wide}))[0]};
  };
  constexpr int64_t count = 200000;
  auto [uniform_mean, uniform_variance] = moments(random("uniform", DType::f64, 2, 4, count));
  EXPECT_NEAR(uniform_mean, 3, 0.01);
  EXPECT_NEAR(uniform_variance, 1.0 / 3, 0.01);
  auto [normal_mean, normal_variance] = moments(random("normal", DType::f32, 1, 2, count));
  EXPECT_NEAR(normal_mean, 1, 0.03);
  EXPECT_NEAR(normal_variance, 4, 0.06);
  auto [share, ignored] = moments(random("bernoulli", DType::boolean, 0.3, 0, count));
  EXPECT_NEAR(share, 0.3, 0.01);
  Numbers dice = values(random("integers", DType::i64, 1, 7, count));
  EXPECT_EQ(*std::ranges::min_element(dice), 1);
  EXPECT_EQ(*std::ranges::max_element(dice), 6);
}

TEST(Create, FullAndIota) {
  expect_values(apply(Op::full, {}, {{"shape", Ints{2}}, {"dtype", DType::i32}, {"value", -inf}}),
                {-2147483648.0, -2147483648.0});
  expect_values(
      apply(Op::iota, {}, {{"size", int64_t{3}}, {"dtype", DType::i64}, {"start", 5.0}, {"step", -2.0}}),
      {5, 3, 1});
  expect_values(apply(Op::iota, {}, {{"size", int64_t{2}}, {"dtype", DType::f32}, {"step", 0.5}}), {0, 0.5});
}

}  // namespace
}  // namespace stitch::oracle
