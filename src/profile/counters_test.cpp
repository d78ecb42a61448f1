// What the emulated GPU counts, on programs whose accesses are known.
#include <gtest/gtest.h>

#include "profile/collect.h"
#include "profile/rules.h"

namespace stitch::profile {
namespace {

KernelMetrics counted(const std::string& program, const std::string& kernel) {
  auto collected =
      collect({.program = fs::path(STITCH_SOURCE_DIR) / "src/profile/testdata/known_bottlenecks" / program,
               .gpu = *find_gpu("H200"),
               .counters = true});
  EXPECT_TRUE(collected) << collected.error().text();
  if (!collected || !collected->metrics.contains(kernel)) return {};
  return collected->metrics.at(kernel);
}

TEST(EmulatedCounters, SectorsOfStridedAndStreamingLoads) {
  const KernelMetrics strided = counted("strided_copy.cu", "gather");
  EXPECT_EQ(strided.get(Metric::global_load_sectors), 32);
  EXPECT_EQ(strided.get(Metric::global_store_sectors), 4);
  EXPECT_EQ(strided.get(Metric::loads), 16 * 8);  // blocks, warps
  EXPECT_EQ(strided.get(Metric::stores), 16 * 8);
  EXPECT_EQ(strided.get(Metric::lanes_active), 32);
  EXPECT_FALSE(strided.counted());
  const KernelMetrics copy = counted("streaming_copy.cu", "copy");
  EXPECT_EQ(copy.get(Metric::global_load_sectors), 16);
  EXPECT_EQ(copy.get(Metric::global_store_sectors), 16);
}

TEST(EmulatedCounters, BankConflictsAndBarriers) {
  const KernelMetrics conflicts = counted("bank_conflicts.cu", "sum_columns");
  EXPECT_EQ(conflicts.get(Metric::shared_load_conflicts), 31);
  EXPECT_EQ(conflicts.get(Metric::shared_store_conflicts), 0);
  EXPECT_EQ(conflicts.get(Metric::shared_loads), 2 * 8 * 8);  // blocks, warps, rounds
  EXPECT_EQ(conflicts.get(Metric::barriers), 2);
}

TEST(EmulatedCounters, AtomicsAndLanes) {
  const KernelMetrics atomics = counted("contended_atomics.cu", "add_to_one");
  EXPECT_GT(*atomics.get(Metric::atomics), 0);
}

}  // namespace
}  // namespace stitch::profile
