// Views and data movement.
#include "oracle/testing.h"

namespace stitch::oracle {
namespace {

TEST(View, SameElementsSeenOtherwise) {
  Tensor x = counting({2, 3});
  EXPECT_EQ(apply(Op::reshape, {x}, {{"shape", Ints{3, 2}}}).data<double>(), x.data<double>());
  expect_values(apply(Op::permute, {x}, {{"dims", Ints{1, 0}}}), {0, 3, 1, 4, 2, 5});
  expect_values(apply(Op::expand, {floats({2, 1}, {1, 2})}, {{"shape", Ints{2, 2, 2}}}),
                {1, 1, 2, 2, 1, 1, 2, 2});
  expect_values(
      apply(Op::slice, {x},
            {{"dim", int64_t{-1}}, {"start", int64_t{0}}, {"end", int64_t{3}}, {"step", int64_t{2}}}),
      {0, 2, 3, 5});
  expect_values(
      apply(Op::strided_view, {x}, {{"shape", Ints{2, 2}}, {"strides", Ints{1, 2}}, {"offset", int64_t{1}}}),
      {1, 3, 2, 4});
  // A huge step takes only the first element.
  expect_values(apply(Op::slice, {x},
                      {{"dim", int64_t{0}}, {"start", int64_t{1}}, {"end", int64_t{2}}, {"step", INT64_MAX}}),
                {3, 4, 5});
}

TEST(Movement, FlipRollConcat) {
  Tensor x = counting({2, 3});
  expect_values(apply(Op::flip, {x}, {{"dims", Ints{0, 1}}}), {5, 4, 3, 2, 1, 0});
  expect_values(apply(Op::roll, {x}, {{"shifts", Ints{1}}, {"dims", Ints{1}}}), {2, 0, 1, 5, 3, 4});
  expect_values(apply(Op::roll, {x}, {{"shifts", Ints{-4}}, {"dims", Ints{1}}}), {1, 2, 0, 4, 5, 3});
  expect_values(apply(Op::concat, {x, floats({2, 0}, {}), floats({2, 1}, {7, 8})}, {{"dim", int64_t{1}}}),
                {0, 1, 2, 7, 3, 4, 5, 8});
  expect_values(apply(Op::flip, {floats({}, {4})}, {{"dims", Ints{0}}}), {4});
}

TEST(Movement, Pad) {
  Tensor x = counting({3}, 1);
  auto pad = [&](const char* mode) {
    return apply(Op::pad, {x}, {{"pads", Ints{2, 1}}, {"mode", std::string(mode)}, {"value", 9.0}});
  };
  expect_values(pad("constant"), {9, 9, 1, 2, 3, 9});
  expect_values(pad("reflect"), {3, 2, 1, 2, 3, 2});
  expect_values(pad("replicate"), {1, 1, 1, 2, 3, 3});
  expect_values(pad("circular"), {2, 3, 1, 2, 3, 1});
  expect_values(apply(Op::pad, {longs({1, 1}, {5})}, {{"pads", Ints{1, 0, 0, 1}}}), {0, 0, 5, 0});
}

TEST(Movement, TrianglesAndUpdates) {
  Tensor x = counting({2, 3}, 1);
  expect_values(apply(Op::tril, {x}), {1, 0, 0, 4, 5, 0});
  expect_values(apply(Op::triu, {x}, {{"diagonal", int64_t{1}}}), {0, 2, 3, 0, 0, 6});
  expect_values(apply(Op::tril, {x}, {{"diagonal", INT64_MIN}}), {0, 0, 0, 0, 0, 0});
  expect_values(apply(Op::update_slice, {x, floats({2, 2}, {10, 20, 30, 40})},
                      {{"dim", int64_t{1}}, {"start", int64_t{0}}, {"step", int64_t{2}}}),
                {10, 2, 20, 30, 5, 40});
}

}  // namespace
}  // namespace stitch::oracle
