#include "runner/arena.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

namespace stitch::runner {
namespace {

TEST(Arena, GrowsAndKeepsOffsets) {
  auto arena = Arena::create(100);
  ASSERT_TRUE(arena);
  const int64_t first = *arena->allocate(10), second = *arena->allocate(10);
  EXPECT_EQ(second - first, 256);
  std::memcpy(arena->bytes(first, 10).data(), "123456789", 10);
  auto large = arena->allocate(int64_t{100} << 20);
  ASSERT_TRUE(large);
  arena->bytes(*large, int64_t{100} << 20).back() = std::byte{7};
  EXPECT_STREQ(reinterpret_cast<const char*>(arena->bytes(first, 10).data()), "123456789");
}

TEST(Arena, GivesBackToAMark) {
  auto arena = Arena::create(0);
  ASSERT_TRUE(arena);
  const int64_t mark = arena->mark();
  const int64_t first = *arena->allocate(1000);
  arena->release_to(mark);
  EXPECT_EQ(*arena->allocate(1000), first);
}

TEST(Arena, CannotBeShrunkByWhoeverHoldsIt) {
  auto arena = Arena::create(0);
  ASSERT_TRUE(arena);
  EXPECT_NE(::ftruncate(arena->descriptor(), 0), 0);
}

}  // namespace
}  // namespace stitch::runner
