// Every counter that we ask for is one that CUPTI knows for GH100; that needs no GPU.
#include <gtest/gtest.h>

#include "profile/metrics.h"

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
