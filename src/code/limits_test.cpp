#include "code/limits.h"

#include <gtest/gtest.h>

namespace stitch::code {
namespace {

TEST(RewriteLimits, AreTheTechniquesAndTheGpus) {
  const GpuSpec gpu = *find_gpu("H200");
  const RewriteLimits limits = limits_on(gpu);
  EXPECT_EQ(limits.head, 128);
  EXPECT_EQ(limits.head_of_halves, 256);
  EXPECT_EQ(limits.few_queries, 8);
  EXPECT_EQ(limits.head_of_few, 512);
  EXPECT_EQ(limits.joined_channels, 32);
  EXPECT_EQ(limits.cached_bytes, gpu.l2);
  EXPECT_NEAR(limits.merged_operations, 2e10, 3e8);
  EXPECT_GT(limits_on(*find_gpu("RTX PRO 6000")).cached_bytes, limits.cached_bytes);
}

TEST(RewriteLimits, OfAProgramAreOfTheGpuInItsPlan) {
  const GpuSpec here = *find_gpu("H200"), other = *find_gpu("A10");
  auto folder = ScratchFolder::create("limits");
  ASSERT_TRUE(folder);
  auto merged = [&] { return limits_of(folder->path(), here).merged_operations; };
  EXPECT_EQ(merged(), limits_on(here).merged_operations) << "no plan";
  ASSERT_TRUE(write_file(folder->path() / "plan.json", "{"));
  EXPECT_EQ(merged(), limits_on(here).merged_operations) << "a broken plan";
  ASSERT_TRUE(
      write_file(folder->path() / "plan.json", R"({"gpu": "A10", "estimated_seconds": 1, "regions": []})"));
  EXPECT_EQ(merged(), limits_on(other).merged_operations);
}

}  // namespace
}  // namespace stitch::code
