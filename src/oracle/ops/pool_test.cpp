// Pools and resizing.
#include "oracle/testing.h"

namespace stitch::oracle {
namespace {

TEST(MaxPool, NaNAndPositions) {
  Attributes attributes = {{"kernel", Ints{2, 2}},
                           {"stride", Ints{2, 2}},
                           {"padding", Ints{1, 1}},
                           {"dilation", Ints{1, 1}},
                           {"indices", true}};
  auto results = apply_all(Op::max_pool, {floats({1, 1, 2, 2}, {-inf, nan, 3, 4})}, attributes);
  expect_values(results[0], {-inf, nan, 3, 4});
  expect_values(results[1], {0, 1, 2, 3});
  auto all = apply_all(Op::adaptive_max_pool, {floats({1, 1, 4}, {1, nan, 3, nan})},
                       {{"size", Ints{1}}, {"indices", true}});
  expect_values(all[0], {nan});
  expect_values(all[1], {3});  // the last NaN, as in PyTorch
}

TEST(MaxPool, Dilation) {
  Attributes attributes = {
      {"kernel", Ints{2}}, {"stride", Ints{1}}, {"padding", Ints{1}}, {"dilation", Ints{2}}};
  expect_values(apply(Op::max_pool, {counting({1, 1, 4})}, attributes), {1, 2, 3, 2});
}

TEST(AvgPool, Divisors) {
  Tensor x = counting({1, 1, 5}, 1);
  Attributes attributes = {{"kernel", Ints{2}}, {"stride", Ints{2}}, {"padding", Ints{1}}, {"ceil", true}};
  expect_values(apply(Op::avg_pool, {x}, attributes), {0.5, 2.5, 4.5});
  attributes.set("count_padding", false);
  expect_values(apply(Op::avg_pool, {x}, attributes), {1, 2.5, 4.5});
  attributes.set("divisor", int64_t{10});
  expect_values(apply(Op::avg_pool, {x}, attributes), {0.1, 0.5, 0.9});
  // In ceil mode the last window extends past the padding; that part doesn't count.
  expect_values(apply(Op::avg_pool, {counting({1, 1, 4}, 1)},
                      {{"kernel", Ints{3}}, {"stride", Ints{2}}, {"padding", Ints{0}}, {"ceil", true}}),
                {2, 3.5});
}

TEST(AdaptivePool, UnevenParts) {
  expect_values(apply(Op::adaptive_avg_pool, {counting({1, 1, 5})}, {{"size", Ints{3}}}), {0.5, 2, 3.5});
  expect_values(apply(Op::adaptive_max_pool, {counting({1, 1, 5})}, {{"size", Ints{2}}}), {2, 4});
}

Tensor resize(const Tensor& x, int64_t size, const char* mode, bool align_corners = false,
              Numbers scales = {}) {
  return apply(Op::resize, {x},
               {{"size", Ints{size}},
                {"mode", std::string(mode)},
                {"align_corners", align_corners},
                {"scales", scales}});
}

TEST(Resize, Modes) {
  Tensor x = floats({1, 1, 3}, {0, 10, 20});
  expect_values(resize(x, 5, "nearest"), {0, 0, 10, 10, 20});
  expect_values(resize(x, 4, "nearest_exact"), {0, 10, 10, 20});
  expect_values(resize(x, 6, "linear"), {0, 2.5, 7.5, 12.5, 17.5, 20});
  expect_values(resize(x, 5, "linear", true), {0, 5, 10, 15, 20});
  expect_values(resize(x, 1, "linear", true), {0});
  expect_values(resize(x, 3, "cubic"), {0, 10, 20});
  // With a given scale of 2.5, coordinates follow it and not 7 / 3.
  expect_values(resize(x, 7, "linear", false, {2.5}), {0, 1, 5, 9, 13, 17, 20});
  expect_values(resize(longs({1, 1, 2}, {7, 9}), 4, "nearest"), {7, 7, 9, 9});
}

TEST(Resize, CubicWeights) {
  // Half-way between the middle two of four: weights -0.09375, 0.59375, 0.59375, -0.09375.
  expect_values(resize(floats({1, 1, 4}, {0, 0, 1, 0}), 7, "cubic", true),
                {0, -0.09375, 0, 0.59375, 1, 0.59375 - 0.09375 * 0, 0});
}

}  // namespace
}  // namespace stitch::oracle
