#include "runner/arena.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
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

TEST(Arena, KnowsItsOwnBytesAndGivesMemoryBack) {
  auto arena = Arena::create(0);
  ASSERT_TRUE(arena);
  const int64_t kept = *arena->allocate(10), mark = arena->mark(), gone = *arena->allocate(1 << 20);
  std::byte* address = arena->bytes(gone, 10).data();
  ASSERT_TRUE(arena->allocate(int64_t{1} << 30));
  EXPECT_EQ(arena->bytes(gone, 10).data(), address);
  EXPECT_EQ(arena->offset_of(arena->bytes(gone, 10)), gone);
  std::byte elsewhere{};
  EXPECT_EQ(arena->offset_of({&elsewhere, 1}), std::nullopt);
  arena->bytes(kept, 10)[0] = arena->bytes(gone, 1 << 20).back() = std::byte{7};
  arena->release_to(mark);
  arena->give_back_memory();
  EXPECT_EQ(arena->bytes(kept, 10)[0], std::byte{7});
  EXPECT_EQ(arena->bytes(gone, 1 << 20).back(), std::byte{0});
}

TEST(DeviceArena, HandsOutPlacesThatNobodyCanRead) {
  EXPECT_EQ(DeviceArena::size_for(std::array<int64_t, 3>{1, 256, 257}), 1024);
  auto arena = DeviceArena::over(Descriptor(), 1024);
  ASSERT_TRUE(arena);
  EXPECT_EQ(arena->allocate(1), 0);
  EXPECT_EQ(arena->allocate(257), 256);
  EXPECT_EQ(arena->offset_of(arena->bytes(256, 257)), 256);
  std::byte elsewhere{};
  EXPECT_EQ(arena->offset_of({&elsewhere, 1}), std::nullopt);
  arena->clear();
  EXPECT_EQ(arena->allocate(1024), 0);
}

TEST(Arena, CannotBeShrunkByWhoeverHoldsIt) {
  auto arena = Arena::create(0);
  ASSERT_TRUE(arena);
  EXPECT_NE(::ftruncate(arena->descriptor(), 0), 0);
}

}  // namespace
}  // namespace stitch::runner
