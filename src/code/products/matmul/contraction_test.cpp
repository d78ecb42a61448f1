#include "code/products/matmul/contraction.h"

#include <gtest/gtest.h>

namespace stitch::code {
namespace {

Place place(const char* name, Shape shape) {
  std::vector<int64_t> strides = contiguous_strides(shape);
  return {ValueId::none, name, DType::f32, std::move(shape), std::move(strides)};
}

TEST(Contraction, JoinsTheRowsOfALinearLayer) {
  Place x = place("x", {2, 9, 31}), w = place("w", {40, 31}), y = place("y", {2, 9, 40});
  Labelled right{view_of(w), {2, 3}};
  Contraction c = contract({view_of(x), {0, 1, 3}}, &right, {view_of(y), {0, 1, 2}});
  EXPECT_TRUE(c.batch.empty());
  ASSERT_EQ(c.rows.size(), 1u);
  EXPECT_EQ(c.rows[0].extent, 18);
  EXPECT_EQ(c.rows[0].left, 31);
  EXPECT_EQ(extent(c.columns), 40);
  EXPECT_EQ(extent(c.depth), 31);
  EXPECT_EQ(index_in(c, &Axis::left).text(), "k + row * 31");
  EXPECT_EQ(index_in(c, &Axis::right).text(), "column * 31 + k");
  EXPECT_EQ(describe(c), "y (2, 9, 40) = x (2, 9, 31) · w (40, 31)");
}

TEST(Contraction, MakesABroadcastBatchRows) {
  Place a = place("a", {3, 4, 6}), b = place("b", {6, 5}), y = place("y", {3, 4, 5});
  View wide = expanded(view_of(b), {3, 6, 5});
  Labelled right{wide, {0, 3, 2}};
  Contraction c = contract({view_of(a), {0, 1, 3}}, &right, {view_of(y), {0, 1, 2}});
  EXPECT_TRUE(c.batch.empty());
  EXPECT_EQ(extent(c.rows), 12);
  ASSERT_EQ(c.rows.size(), 1u);
}

TEST(Contraction, WalksDiagonals) {
  Place a = place("a", {5, 5, 3}), y = place("y", {3});
  Contraction c = contract({view_of(a), {0, 0, 1}}, nullptr, {view_of(y), {1}});
  ASSERT_EQ(c.depth.size(), 1u);
  EXPECT_EQ(c.depth[0].left, 18);
  EXPECT_FALSE(c.has_right());
}

}  // namespace
}  // namespace stitch::code
