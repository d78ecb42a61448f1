#include "code/memory.h"

#include <gtest/gtest.h>

#include <random>

namespace stitch::code {

TEST(Memory, ValuesThatNeverMeetShare) {
  Layout layout = lay_out({{1000, 0, 1}, {1000, 2, 3}, {1000, 1, 2}});
  EXPECT_EQ(layout.bytes, 2048);
  EXPECT_EQ(layout.offsets[0], layout.offsets[1]);
  EXPECT_NE(layout.offsets[0], layout.offsets[2]);
}

// Largest first alone takes 4352.
TEST(Memory, TakesNoMoreThanLivesAtOnce) {
  const Layout layout =
      lay_out({{512, 1, 3}, {1536, 1, 1}, {1024, 1, 2}, {1536, 4, 4}, {1280, 2, 4}, {256, 4, 5}});
  EXPECT_EQ(layout.bytes, 3072);
}

TEST(Memory, NobodyWhoMeetsOverlaps) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lifetimes;
    for (int i = 0; i < 40; ++i) {
      int first = static_cast<int>(random() % 30);
      lifetimes.push_back(
          {static_cast<int64_t>(random() % 5000), first, first + static_cast<int>(random() % 8)});
    }
    Layout layout = lay_out(lifetimes);
    for (size_t a = 0; a < lifetimes.size(); ++a) {
      EXPECT_LE(layout.offsets[a] + lifetimes[a].bytes, layout.bytes);
      for (size_t b = 0; b < a; ++b) {
        bool meet = lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
        bool apart = layout.offsets[a] + lifetimes[a].bytes <= layout.offsets[b] ||
                     layout.offsets[b] + lifetimes[b].bytes <= layout.offsets[a];
        EXPECT_TRUE(!meet || apart) << a << " and " << b;
      }
    }
  }
}

}  // namespace stitch::code
