// Reductions, scans, softmax and the norms.
#include "oracle/testing.h"

namespace stitch::oracle {
namespace {

TEST(Reduce, AlongDimensions) {
  Tensor x = counting({2, 3, 2});
  expect_values(apply(Op::sum, {x}), {66});
  expect_values(apply(Op::sum, {x}, {{"dims", Ints{1}}}), {6, 9, 24, 27});
  expect_values(apply(Op::mean, {x}, {{"dims", Ints{0, -1}}}), {3.5, 5.5, 7.5});
  EXPECT_EQ(apply(Op::sum, {x}, {{"dims", Ints{0, 2}}, {"keepdim", true}}).shape(), (Shape{1, 3, 1}));
  expect_values(apply(Op::sum, {floats({}, {5})}, {{"dims", Ints{-1}}}), {5});
  expect_values(apply(Op::sum, {floats({2, 0}, {})}, {{"dims", Ints{1}}}), {0, 0});
  expect_values(apply(Op::mean, {floats({0}, {})}), {nan});
}

TEST(Reduce, Extremes) {
  Tensor x = floats({2, 3}, {1, 3, 3, 2, nan, nan});
  expect_values(apply(Op::amax, {x}, {{"dims", Ints{1}}}), {3, nan});
  expect_values(apply(Op::argmax, {x}, {{"dims", Ints{1}}}), {1, 1});
  expect_values(apply(Op::argmin, {x}, {{"dims", Ints{1}}}), {0, 1});
  expect_values(apply(Op::argmax, {x}), {4});
}

TEST(Reduce, LogSumExpAndNorms) {
  expect_values(apply(Op::logsumexp, {floats({2, 2}, {-inf, -inf, 1000, 1000})}, {{"dims", Ints{1}}}),
                {-inf, 1000 + std::log(2.0)});
  expect_values(apply(Op::logsumexp, {floats({2}, {inf, 1})}), {inf});
  Tensor x = floats({3}, {3, -4, 0});
  for (auto [order, wanted] :
       {std::pair{0.0, 2.0}, {1.0, 7.0}, {2.0, 5.0}, {inf, 4.0}, {-inf, 0.0}, {3.0, std::cbrt(91.0)}})
    expect_values(apply(Op::norm, {x}, {{"order", order}}), {wanted});
  Tensor none = floats({0}, {});
  EXPECT_FALSE(try_apply(Op::norm, {&none}, {{"order", inf}}));
}

TEST(Reduce, Variance) {
  Tensor x = floats({4}, {1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3});
  expect_values(apply(Op::var, {x}), {5.0 / 3});
  expect_values(apply(Op::var, {x}, {{"correction", 0.0}}), {1.25});
  expect_values(apply(Op::var, {floats({1}, {1})}), {nan});
  expect_values(apply(Op::var, {floats({2}, {1, 2})}, {{"correction", 3.0}}), {inf});
}

TEST(Reduce, IntegersAndBooleans) {
  expect_values(apply(Op::sum, {Tensor::of(DType::u8, {3}, {200, 100, 1})}), {45});
  expect_values(apply(Op::prod, {longs({3}, {2, 3, 4})}), {24});
  Tensor x = Tensor::of(DType::boolean, {2, 2}, {1, 0, 0, 0});
  expect_values(apply(Op::any, {x}, {{"dims", Ints{1}}}), {1, 0});
  expect_values(apply(Op::all, {Tensor::of(DType::boolean, {0}, {})}), {1});
}

TEST(Scan, TiesAndNaN) {
  auto results = apply_all(Op::cummax, {floats({6}, {1, 3, 3, 2, nan, 5})}, {{"dim", int64_t{0}}});
  expect_values(results[0], {1, 3, 3, 3, nan, nan});
  expect_values(results[1], {0, 1, 2, 2, 4, 4});
  expect_values(apply(Op::cumsum, {counting({2, 2})}, {{"dim", int64_t{0}}}), {0, 1, 2, 4});
  expect_values(apply(Op::cumprod, {counting({2, 2}, 1)}, {{"dim", int64_t{-1}}}), {1, 2, 3, 12});
  expect_values(apply(Op::logcumsumexp, {floats({3}, {-inf, 0, 0})}, {{"dim", int64_t{0}}}),
                {-inf, 0, std::log(2.0)});
}

TEST(Softmax, Rows) {
  Tensor x = floats({3, 2}, {1000, 1000, -inf, -inf, -inf, 0});
  expect_values(apply(Op::softmax, {x}), {0.5, 0.5, nan, nan, 0, 1});
  expect_values(apply(Op::log_softmax, {x}), {-std::log(2.0), -std::log(2.0), nan, nan, -inf, 0});
  expect_values(apply(Op::softmax, {floats({2, 2}, {0, 5, 0, 5})}, {{"dim", int64_t{0}}}),
                {0.5, 0.5, 0.5, 0.5});
  expect_values(apply(Op::softmax, {floats({}, {5})}), {1});
}

TEST(BatchNorm, TrainingUpdatesWithTheUnbiasedVariance) {
  Tensor x = floats({2, 1, 2}, {1, 2, 3, 4}), one = floats({1}, {1}), zero = floats({1}, {0});
  auto results = apply_all(Op::batch_norm, {x, one, zero, zero, one},
                           {{"training", true}, {"momentum", 0.5}, {"eps", 0.0}});
  double deviation = std::sqrt(1.25);
  expect_values(results[0], {-1.5 / deviation, -0.5 / deviation, 0.5 / deviation, 1.5 / deviation});
  expect_values(results[1], {1.25});
  expect_values(results[2], {0.5 + 0.5 * 5 / 3});
  expect_values(apply(Op::batch_norm, {x, floats({1}, {2}), one, one, floats({1}, {4})}, {{"eps", 0.0}}),
                {1, 2, 3, 4});
}

TEST(SampleNorms, SmallCases) {
  Tensor x = floats({1, 4}, {1, 3, 10, 14});
  expect_values(apply(Op::layer_norm, {floats({2, 2}, {1, 3, 10, 14})}, {{"eps", 0.0}}), {-1, 1, -1, 1});
  expect_values(apply(Op::group_norm, {x, floats({4}, {1, 2, 3, 4})}, {{"groups", int64_t{2}}, {"eps", 0.0}}),
                {-1, 2, -3, 4});
  expect_values(apply(Op::rms_norm, {floats({2}, {3, 4})}, {{"eps", 0.0}}),
                {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)});
}

}  // namespace
}  // namespace stitch::oracle
