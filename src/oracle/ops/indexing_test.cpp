// Indexing and sorting.
#include "oracle/testing.h"

namespace stitch::oracle {
namespace {

TEST(Gather, AndItsErrors) {
  Tensor x = counting({2, 3});
  expect_values(apply(Op::gather, {x, longs({1, 2}, {2, 0})}, {{"dim", int64_t{1}}}), {2, 0});
  expect_values(apply(Op::gather, {x, longs({1, 3}, {1, 0, 1})}, {{"dim", int64_t{0}}}), {3, 1, 5});
  Tensor negative = longs({1, 1}, {-1});
  auto failed = try_apply(Op::gather, {&x, &negative}, {{"dim", int64_t{1}}});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, "out_of_range");
}

TEST(Scatter, Reductions) {
  Tensor x = floats({3}, {10, 20, 30}), index = longs({3}, {0, 0, 2}), source = floats({3}, {1, 4, 5});
  auto scatter = [&](const char* reduce, bool include_self = true) {
    return apply(Op::scatter, {x, index, source},
                 {{"dim", int64_t{0}}, {"reduce", std::string(reduce)}, {"include_self", include_self}});
  };
  expect_values(scatter("none"), {4, 20, 5});
  expect_values(scatter("sum"), {15, 20, 35});
  expect_values(scatter("sum", false), {5, 20, 5});
  expect_values(scatter("mean"), {5, 20, 17.5});
  expect_values(scatter("mean", false), {2.5, 20, 5});
  expect_values(scatter("prod"), {40, 20, 150});
  expect_values(scatter("amax"), {10, 20, 30});
  expect_values(scatter("amin", false), {1, 20, 5});
  expect_values(apply(Op::scatter, {longs({1}, {-4}), longs({1}, {0}), longs({1}, {-3})},
                      {{"dim", int64_t{0}}, {"reduce", std::string("mean")}}),
                {-4});  // -3.5 rounded down
}

TEST(Index, PlacesTheCommonShape) {
  Tensor x = counting({2, 3, 2});
  expect_values(apply(Op::index, {x, longs({2}, {-1, 0})}, {{"dims", Ints{1}}}), {4, 5, 0, 1, 10, 11, 6, 7});
  Tensor apart = apply(Op::index, {x, longs({3}, {0, 1, 1}), longs({1}, {1})}, {{"dims", Ints{0, 2}}});
  EXPECT_EQ(apart.shape(), (Shape{3, 3}));
  expect_values(apart, {1, 3, 5, 7, 9, 11, 7, 9, 11});
  Tensor table = counting({2, 2}), far = longs({1}, {-3});
  EXPECT_FALSE(try_apply(Op::index, {&table, &far}, {{"dims", Ints{0}}}));
}

TEST(IndexPut, WritesOrAdds) {
  Tensor x = counting({3}), places = longs({3}, {0, -1, 0}), put = floats({3}, {10, 20, 30});
  expect_values(apply(Op::index_put, {x, put, places}, {{"dims", Ints{0}}}), {30, 1, 20});
  expect_values(apply(Op::index_put, {x, put, places}, {{"dims", Ints{0}}, {"accumulate", true}}),
                {40, 1, 22});
  expect_values(
      apply(Op::index_put, {counting({2, 2}), floats({}, {9}), longs({1}, {1})}, {{"dims", Ints{1}}}),
      {0, 9, 2, 9});
}

TEST(Sort, StableWithNaNLast) {
  Tensor x = floats({5}, {3, nan, 1, nan, 3});
  auto up = apply_all(Op::sort, {x}), down = apply_all(Op::sort, {x}, {{"descending", true}});
  expect_values(up[0], {1, 3, 3, nan, nan});
  expect_values(up[1], {2, 0, 4, 1, 3});
  expect_values(down[0], {nan, nan, 3, 3, 1});
  expect_values(down[1], {1, 3, 0, 4, 2});
  auto columns = apply_all(Op::sort, {floats({2, 2}, {5, 1, 4, 2})}, {{"dim", int64_t{0}}});
  expect_values(columns[0], {4, 1, 5, 2});
  expect_values(columns[1], {1, 0, 0, 1});
}

TEST(Topk, LargestAndSmallest) {
  Tensor x = longs({2, 3}, {3, 1, 2, 4, 6, 5});
  auto most = apply_all(Op::topk, {x}, {{"k", int64_t{2}}});
  expect_values(most[0], {3, 2, 6, 5});
  expect_values(most[1], {0, 2, 1, 2});
  expect_values(apply(Op::topk, {x}, {{"k", int64_t{1}}, {"largest", false}, {"dim", int64_t{0}}}),
                {3, 1, 2});
}

TEST(Searchsorted, BothSides) {
  Tensor sorted = floats({4}, {1, 2, 2, 3}), x = floats({5}, {2, nan, 0, 4, 3});
  expect_values(apply(Op::searchsorted, {sorted, x}), {1, 4, 0, 4, 3});
  expect_values(apply(Op::searchsorted, {sorted, x}, {{"right", true}}), {3, 4, 0, 4, 4});
  expect_values(apply(Op::searchsorted, {counting({2, 2}), floats({2, 1}, {1, 1})}), {1, 0});
}

}  // namespace

// Views and data movement.

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
