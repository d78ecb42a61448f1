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
}  // namespace stitch::oracle
