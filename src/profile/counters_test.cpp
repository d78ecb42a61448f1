// What the emulated GPU counts, on programs whose accesses are known.
#include <gtest/gtest.h>

#include "profile/collect.h"
#include "profile/metrics.h"
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

// Every counter that we ask for is one that CUPTI knows for GH100; that needs no GPU.
#if __has_include(<cuda.h>) && __has_include(<cupti_profiler_host.h>)
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <dlfcn.h>

namespace stitch::profile {
namespace {

TEST(CounterNames, AreKnownToCuptiForHopper) {
  void* library = nullptr;
  for (const char* place :
       {"libcupti.so", "/usr/local/cuda/lib64/libcupti.so", "/usr/local/cuda/lib/libcupti.so",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"})
    if (!library) library = ::dlopen(place, RTLD_NOW | RTLD_LOCAL);
  if (!library) GTEST_SKIP() << "there is no CUPTI: names of counters were not checked";
  auto start = reinterpret_cast<decltype(&cuptiProfilerHostInitialize)>(
      ::dlsym(library, "cuptiProfilerHostInitialize"));
  auto add = reinterpret_cast<decltype(&cuptiProfilerHostConfigAddMetrics)>(
      ::dlsym(library, "cuptiProfilerHostConfigAddMetrics"));
  if (!start || !add) GTEST_SKIP() << "this CUPTI is older than the host API";
  auto known = [&](const std::string& counter) {
    CUpti_Profiler_Host_Initialize_Params host{CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE};
    host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    host.pChipName = "GH100";
    if (start(&host) != CUPTI_SUCCESS) return false;
    const char* name = counter.c_str();
    CUpti_Profiler_Host_ConfigAddMetrics_Params config{
        CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE};
    config.pHostObject = host.pHostObject;
    config.ppMetricNames = &name;
    config.numMetrics = 1;
    return add(&config) == CUPTI_SUCCESS;
  };
  EXPECT_FALSE(known("sm__no_such_counter.sum"));
  for (const std::string& counter : counter_names()) EXPECT_TRUE(known(counter)) << counter;
}

}  // namespace
}  // namespace stitch::profile
#endif
