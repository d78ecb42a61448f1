#include "graph/numerics.h"

#include <gtest/gtest.h>

namespace stitch {

TEST(Numerics, ClassesByName) {
  for (Numerics numerics : all_numerics) {
    auto parsed = parse_numerics(name(numerics));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, numerics);
  }
  auto unknown = parse_numerics("fast");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "there is no numerics class 'fast'");
  EXPECT_EQ(unknown.error().fix, "one of: strict, default, tf32, half");
}

}  // namespace stitch
