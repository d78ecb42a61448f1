#include "profile/ncu.h"

#include <gtest/gtest.h>

#include "base/testdata/must.h"
#include "profile/metrics.h"

namespace stitch::profile {
namespace {

constexpr const char* head =
    "==PROF== Connected to process 12\n"
    "==PROF== Profiling \"copy\" - 0: 0%....100% - 15 passes\n"
    "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid "
    "Size\",\"dram__bytes.sum\",\"gpu__time_duration.sum\","
    "\"sm__cycles_active.avg\",\"sm__cycles_active.max\",\"sm__throughput.avg.pct_of_peak_sustained_"
    "elapsed\"\n"
    "\"\",\"\",\"\",\"\",\"\",\"Mbyte\",\"us\",\"cycle\",\"cycle\",\"%\"\n";

TEST(Ncu, ReadsItsTable) {
  auto metrics = must(
      parse_ncu(std::string(head) +
                "\"0\",\"12\",\"_Z4copyPK6float4PS_\",\"(256, 1, 1)\",\"(131072, 1, "
                "1)\",\"1,073.5\",\"250\",\"100\",\"110\",\"12.5\"\n"
                "\"1\",\"12\",\"_Z4copyPK6float4PS_\",\"(256, 1, 1)\",\"(131072, 1, "
                "1)\",\"1,074.5\",\"252\",\"100\",\"130\",\"n/a\"\n"
                "\"2\",\"12\",\"nvjet_hsh\",\"(256, 1, 1)\",\"(1, 1, 1)\",\"n/a\",\"2\",\"0\",\"0\",\"\"\n"));
  ASSERT_EQ(metrics.size(), 2u);
  const KernelMetrics& copy = metrics[0];
  EXPECT_EQ(copy.kernel, "copy(float4 const*, float4*)");  // as CUPTI's records have it
  EXPECT_EQ(copy.launches, 2);
  EXPECT_TRUE(copy.counted());
  EXPECT_DOUBLE_EQ(*copy.get(Metric::dram_bytes), 1074e6);
  EXPECT_NEAR(*copy.get(Metric::duration), 251e-6, 1e-12);
  EXPECT_DOUBLE_EQ(*copy.get(Metric::sm_imbalance), 1.2);
  EXPECT_DOUBLE_EQ(*copy.get(Metric::sm_throughput), 12.5);
  EXPECT_FALSE(copy.get(Metric::l1_hit_rate));
  EXPECT_EQ(metrics[1].kernel, "nvjet_hsh");
  EXPECT_FALSE(metrics[1].get(Metric::dram_bytes));
  EXPECT_FALSE(metrics[1].get(Metric::sm_imbalance));
}

TEST(Ncu, SaysWhyThereAreNoCounters) {
  auto refused = parse_ncu(
      "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA "
      "GPU "
      "Performance Counters\n");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "no_counters");
  EXPECT_NE(refused.error().message.find("no permission to read"), std::string::npos);
  EXPECT_FALSE(refused.error().fix.empty());
  auto none = parse_ncu("==WARNING== No kernels were profiled.\n");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("No kernels"), std::string::npos);
  EXPECT_FALSE(parse_ncu(""));
  EXPECT_FALSE(parse_ncu(head));
  EXPECT_FALSE(parse_ncu("\"a\",\"b\"\n\"c\"\n\"Kernel Name\"\n\"unit\"\n"));
}

// What run_ncu asks of ncu, by a script in its place: it writes a table where it is told to.
TEST(Ncu, RunsAroundACommand) {
  auto folder = must(ScratchFolder::create("stitch_ncu_test"));
  const fs::path fake = folder.path() / "ncu";
  ASSERT_TRUE(write_file(fake, R"(#!/bin/sh
echo "$@" >"$(dirname "$0")/words"
while [ $# -gt 0 ]; do
  [ "$1" = --log-file ] && log=$2
  shift
done
env >"$(dirname "$0")/environment"
[ -e "$(dirname "$0")/refuses" ] && { echo "==ERROR== ERR_NVGPUCTRPERM no" >"$log"; exit 1; }
printf '"ID","Kernel Name","sm__throughput.avg.pct_of_peak_sustained_elapsed"\n"","","%%"\n"0","f","50"\n' >"$log"
)"));
  fs::permissions(fake, fs::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (folder.path().string() + ":" + path).c_str(), 1);
  ::setenv("STITCH_TEST_KEY", "sesame", 1);
  auto metrics =
      run_ncu({"program", "--flag"},
              {.kernels = {"f", "operator()"}, .launches = 3, .marked = true, .folder = folder.path()},
              std::chrono::seconds(20));
  ASSERT_TRUE(write_file(folder.path() / "refuses", ""));
  auto refused = run_ncu({"program"}, {.folder = folder.path()}, std::chrono::seconds(20));
  ::setenv("PATH", path.c_str(), 1);
  if (!metrics && metrics.error().code == "sandbox") GTEST_SKIP() << metrics.error().text();
  EXPECT_EQ(read_file(folder.path() / "environment")->find("sesame"), std::string::npos);
  ASSERT_TRUE(metrics) << metrics.error().text();
  EXPECT_EQ((*metrics)[0].get(Metric::sm_throughput), 50);
  auto words = read_file(folder.path() / "words");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("no permission to read"), std::string::npos)
      << refused.error().message;
  ASSERT_TRUE(words);
}

TEST(Metrics, ComeFromTheBuildAlone) {
  auto gpu = must(find_gpu("H200"));
  runner::Activity launch{.name = "f()", .registers = 255};
  launch.grid[0] = 264;
  launch.block[0] = 256;
  launch.grid[1] = launch.grid[2] = launch.block[1] = launch.block[2] = 1;
  const build::KernelResources built{.kernel = "f()", .registers = 255, .spill_bytes = 16};
  const KernelMetrics metrics = metrics_of_launch(launch, &built, gpu);
  EXPECT_DOUBLE_EQ(*metrics.get(Metric::theoretical_occupancy), 12.5);  // one block: 65536 / (256 · 256)
  EXPECT_DOUBLE_EQ(*metrics.get(Metric::waves), 2);
  EXPECT_DOUBLE_EQ(*metrics.get(Metric::spill_bytes), 16);
  EXPECT_FALSE(metrics.counted());
}

TEST(Metrics, EveryOneHasARow) {
  std::set<std::string_view> names;
  for (const MetricInfo& row : metric_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&info(row.metric), &row);
    EXPECT_FALSE(row.meaning.empty());
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(Metric::spill_bytes) + 1);
}

// As CUPTI's range profiler gives them: a launch each, by order.
TEST(LaunchCounters, AreTheMeanOfEachKernel) {
  const std::string kernels[] = {"copy", "sum", "copy"};
  const runner::Counts launches[] = {
      {{"dram__bytes.sum", 100}, {"gpu__time_duration.sum", 2000}},
      {{"sm__cycles_active.max", 12}, {"sm__cycles_active.avg", 10}, {"no_such_counter", 1}},
      {{"dram__bytes.sum", 300}, {"gpu__time_duration.sum", 4000}}};
  auto metrics = must(metrics_of_launches(kernels, launches));
  ASSERT_EQ(metrics.size(), 2u);
  const KernelMetrics &copy = metrics[0], &sum = metrics[1];
  EXPECT_EQ(copy.launches, 2);
  EXPECT_TRUE(copy.counted());
  EXPECT_DOUBLE_EQ(*copy.get(Metric::dram_bytes), 200);
  EXPECT_DOUBLE_EQ(*copy.get(Metric::duration), 3e-6);
  EXPECT_DOUBLE_EQ(*sum.get(Metric::sm_imbalance), 1.2);
  EXPECT_FALSE(sum.get(Metric::duration));
}

TEST(LaunchCounters, OfAnotherCallAreRefused) {
  const std::string kernels[] = {"copy", "sum"};
  const runner::Counts launches[] = {{{"dram__bytes.sum", 100}}};
  auto graph = metrics_of_launches(kernels, launches);
  ASSERT_FALSE(graph);
  EXPECT_NE(graph.error().message.find("CUDA graph"), std::string::npos) << graph.error().message;
  EXPECT_FALSE(metrics_of_launches({}, {}));
}

}  // namespace
}  // namespace stitch::profile
