#include "oracle/testing.h"

namespace stitch::oracle {
namespace {

TEST(Unary, NaNAndInfinity) {
  Tensor x = floats({4}, {nan, inf, -inf, -2});
  expect_values(apply(Op::relu, {x}), {nan, inf, 0, 0});
  expect_values(apply(Op::sign, {x}), {0, 1, -1, -1});  // PyTorch's sign of NaN is 0
  expect_values(apply(Op::clamp, {x}, {{"low", -1.0}, {"high", 3.0}}), {nan, 3, -1, -1});
  expect_values(apply(Op::hardswish, {x}), {nan, inf, nan, -1.0 / 3});
  expect_values(apply(Op::silu, {x}), {nan, inf, nan, -2 / (1 + std::exp(2.0))});
  expect_values(apply(Op::is_nan, {x}), {1, 0, 0, 0});
  expect_values(apply(Op::is_inf, {x}), {0, 1, 1, 0});
  expect_values(apply(Op::sqrt, {x}), {nan, inf, nan, nan});
}

TEST(Unary, Activations) {
  Tensor x = floats({3}, {-1, 0, 2});
  expect_values(apply(Op::gelu, {x}), {-0.15865525393145707, 0, 1.9544997361036416});
  expect_values(apply(Op::gelu, {x}, {{"approximate", std::string("tanh")}}),
                {-0.15880800939172324, 0, 1.954597694087775});
  expect_values(apply(Op::softplus, {x}, {{"threshold", 1.0}}),
                {std::log1p(std::exp(-1.0)), std::log(2.0), 2});
  expect_values(apply(Op::elu, {x}, {{"alpha", 2.0}, {"scale", 3.0}}), {6 * std::expm1(-1.0), 0, 6});
  expect_values(apply(Op::leaky_relu, {x}, {{"slope", 0.5}}), {-0.5, 0, 2});
  expect_values(apply(Op::round, {floats({4}, {0.5, 1.5, -0.5, 2.5})}), {0, 2, 0, 2});
}

TEST(Unary, IntegersWrap) {
  Tensor x = Tensor::of(DType::i8, {3}, {-128, 5, -1});
  expect_values(apply(Op::neg, {x}), {-128, -5, 1});
  expect_values(apply(Op::abs, {x}), {-128, 5, 1});
  expect_values(apply(Op::bitwise_not, {Tensor::of(DType::u8, {2}, {0, 200})}), {255, 55});
}

TEST(Cast, OnlyTheLabelOfFloatsChanges) {
  Tensor x = floats({1}, {0.1});
  Tensor y = apply(Op::cast, {x}, {{"dtype", DType::f16}});
  EXPECT_EQ(y.dtype(), DType::f16);
  EXPECT_EQ(y.data<double>(), x.data<double>());
  expect_values(apply(Op::cast, {floats({4}, {1.9, -1.9, 300, nan})}, {{"dtype", DType::u8}}),
                {1, 255, 44, 0});
  expect_values(apply(Op::cast, {longs({2}, {7, 0})}, {{"dtype", DType::boolean}}), {1, 0});
}

TEST(Binary, Broadcasts) {
  Tensor a = counting({2, 1, 2}), b = floats({3, 1}, {10, 20, 30});
  Tensor y = apply(Op::add, {a, b});
  EXPECT_EQ(y.shape(), (Shape{2, 3, 2}));
  expect_values(y, {10, 11, 20, 21, 30, 31, 12, 13, 22, 23, 32, 33});
  EXPECT_EQ(apply(Op::mul, {floats({0, 2}, {}), b.reshaped({3, 1, 1})}).shape(), (Shape{3, 0, 2}));
}

TEST(Binary, DivisionAndRemainder) {
  Tensor a = floats({6}, {7, -7, 7, -1, 1, nan}), b = floats({6}, {2, 2, -2, inf, 0, 1});
  expect_values(apply(Op::div, {a, b}, {{"rounding", std::string("floor")}}), {3, -4, -4, -1, inf, nan});
  expect_values(apply(Op::div, {a, b}, {{"rounding", std::string("trunc")}}), {3, -3, -3, 0, inf, nan});
  expect_values(apply(Op::remainder, {a, b}), {1, 1, -1, inf, nan, nan});
  expect_values(apply(Op::fmod, {a, b}), {1, -1, 1, -1, nan, nan});
  Tensor c = longs({3}, {7, -7, 7}), d = longs({3}, {2, 2, -2});
  expect_values(apply(Op::div, {c, d}, {{"rounding", std::string("floor")}}), {3, -4, -4});
  expect_values(apply(Op::remainder, {c, d}), {1, 1, -1});
  expect_values(apply(Op::fmod, {c, d}), {1, -1, 1});
  Tensor zero = longs({}, {0});
  auto failed = try_apply(Op::remainder, {&c, &zero});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, "division_by_zero");
}

TEST(Binary, IntegerPowersAndShifts) {
  expect_values(apply(Op::pow, {longs({5}, {2, -1, 0, 1, -3}), longs({5}, {-1, -3, -1, -5, 3})}),
                {0, -1, 0, 1, -27});
  expect_values(apply(Op::pow, {Tensor::of(DType::i8, {}, {3}), Tensor::of(DType::i8, {}, {5})}), {-13});
  expect_values(apply(Op::shift_left, {longs({3}, {1, 1, -8}), longs({3}, {64, -1, 1})}), {0, 0, -16});
  expect_values(apply(Op::shift_right, {longs({3}, {-8, 8, -8}), longs({3}, {64, -1, 1})}), {-1, 0, -4});
}

TEST(Binary, NaNInExtremes) {
  Tensor a = floats({3}, {nan, 1, 2}), b = floats({3}, {1, nan, 3});
  expect_values(apply(Op::maximum, {a, b}), {nan, nan, 3});
  expect_values(apply(Op::minimum, {a, b}), {nan, nan, 2});
  expect_values(apply(Op::ne, {a, a}), {1, 0, 0});
}

// As in IEEE 754 and in CUDA. 1/x shows the sign.
TEST(Binary, ZeroIsLargerThanMinusZero) {
  Tensor a = floats({2}, {-0.0, 0.0}), b = floats({2}, {0.0, -0.0}), one = floats({}, {1});
  auto inverse = [&](const Tensor& x) { return apply(Op::div, {one, x}); };
  expect_values(inverse(apply(Op::maximum, {a, b})), {inf, inf});
  expect_values(inverse(apply(Op::minimum, {a, b})), {-inf, -inf});
  expect_values(inverse(apply(Op::relu, {a})), {inf, inf});
  expect_values(inverse(apply(Op::clamp, {a}, {{"low", 0.0}, {"high", 1.0}})), {inf, inf});
}

TEST(Binary, Where) {
  Tensor condition = Tensor::of(DType::boolean, {2, 1}, {1, 0});
  expect_values(apply(Op::where, {condition, longs({2}, {1, 2}), longs({}, {9})}), {1, 2, 9, 9});
}

}  // namespace
}  // namespace stitch::oracle
