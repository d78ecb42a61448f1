#include "code/products/view.h"

#include <gtest/gtest.h>

namespace stitch::code {
namespace {

Place place(Shape shape, std::vector<int64_t> strides = {}) {
  if (strides.empty()) strides = contiguous_strides(shape);
  return {ValueId::none, "x", DType::f32, std::move(shape), std::move(strides)};
}
using Ints = std::vector<int64_t>;

TEST(View, ReshapesWhatLiesInOrder) {
  Place dense = place({2, 6, 4});
  auto split = reshaped(view_of(dense), {2, 2, 3, 4});
  ASSERT_TRUE(split);
  EXPECT_EQ(split->strides, (Ints{24, 12, 4, 1}));
  auto joined = reshaped(view_of(dense), {12, 4});
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->strides, (Ints{4, 1}));
  EXPECT_TRUE(joined->contiguous());
}

TEST(View, ReshapesWithinStrides) {
  // Channels last: pixels may be joined, channels not with them.
  Place last = place({2, 3, 4, 5}, {60, 1, 15, 3});
  auto pixels = reshaped(view_of(last), {2, 3, 20});
  ASSERT_TRUE(pixels);
  EXPECT_EQ(pixels->strides, (Ints{60, 1, 3}));
  EXPECT_FALSE(reshaped(view_of(last), {2, 60}));
}

TEST(View, KeepsOnesAndNothing) {
  Place one = place({1, 1, 7});
  EXPECT_TRUE(reshaped(view_of(one), {7, 1}));
  Place none = place({0, 3});
  EXPECT_TRUE(reshaped(view_of(none), {3, 0, 5}));
  EXPECT_TRUE(view_of(none).contiguous());
}

TEST(View, BroadcastsWithStridesOfZero) {
  Place bias = place({1, 5});
  View wide = expanded(view_of(bias), {2, 3, 5});
  EXPECT_EQ(wide.strides, (Ints{0, 0, 1}));
  EXPECT_FALSE(wide.contiguous());
}

}  // namespace
}  // namespace stitch::code
