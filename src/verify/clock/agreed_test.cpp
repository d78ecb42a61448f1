#include "verify/clock/agreed.h"

#include <gtest/gtest.h>

#include <vector>

namespace stitch::verifier {
namespace {

std::optional<int64_t> of(std::vector<int64_t> seen) {
  size_t next = 0;
  auto found =
      agreed([&]() -> Result<int64_t> { return seen.at(next++); }, 10, static_cast<int>(seen.size()));
  return *found;
}

TEST(Agreed, TakesWhatTwoInARowSay) {
  EXPECT_EQ(of({1000, 1009}), 1009);
  EXPECT_EQ(of({5000, -300, 1000, 1001}), 1001);
  EXPECT_EQ(of({100000, 100900}), 100900);
  EXPECT_EQ(of({0, 8}), 8);
}

TEST(Agreed, SaysNothingWhereTheyNeverDo) {
  EXPECT_EQ(of({1000, 2000, 1000, 2000}), std::nullopt);
  EXPECT_EQ(of({1000}), std::nullopt);
}

TEST(Agreed, PassesAnErrorOn) {
  EXPECT_FALSE(agreed([]() -> Result<int64_t> { return user_error("gone", "it is gone"); }, 10));
}

}  // namespace
}  // namespace stitch::verifier
