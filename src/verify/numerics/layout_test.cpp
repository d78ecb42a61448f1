#include "verify/numerics/layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace stitch::verifier {

TEST(Layout, ChannelsLast) {
  Slot slot{"x", {DType::i32, {2, 3, 2, 2}, {}}, {0, 2, 3, 1}};
  std::vector<int32_t> values(24);
  std::iota(values.begin(), values.end(), 0);
  auto bytes = std::as_bytes(std::span(values));
  std::vector<std::byte> stored = to_storage(slot, bytes);
  EXPECT_EQ(slot.stored().shape, (Shape{2, 2, 2, 3}));
  const std::vector<int32_t> first = {0, 4, 8, 1, 5, 9};
  EXPECT_EQ(std::memcmp(stored.data(), first.data(), first.size() * 4), 0);
  std::vector<std::byte> back = from_storage(slot, stored);
  EXPECT_EQ(std::memcmp(back.data(), values.data(), back.size()), 0);
}

TEST(Layout, OnlyPermutationsFit) {
  EXPECT_TRUE(fits({"x", {DType::f32, {2, 3}, {}}, {}}));
  EXPECT_TRUE(fits({"x", {DType::f32, {2, 3}, {}}, {1, 0}}));
  EXPECT_FALSE(fits({"x", {DType::f32, {2, 3}, {}}, {1, 1}}));
  EXPECT_FALSE(fits({"x", {DType::f32, {2, 3}, {}}, {0}}));
  EXPECT_FALSE(fits({"x", {DType::f32, {2, 3}, {}}, {2, 0}}));
}

}  // namespace stitch::verifier
