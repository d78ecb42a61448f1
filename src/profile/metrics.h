// Counters of one kernel in one schema for all sources: Nsight Compute, CUPTI's range profiler, the emulated
// GPU, or the build (registers, spills, occupancy). Missing counters are listed.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "build/build.h"
#include "gpu/gpu_spec.h"
#include "runner/activity.h"
#include "runner/candidate.h"

namespace stitch::profile {

enum class Metric : uint8_t {
  duration,               // seconds
  sm_throughput,          // % of peak, the busiest pipe or issue slot
  dram_throughput,        // %
  l1_throughput,          // %
  l2_throughput,          // %
  l1_hit_rate,            // %
  l2_hit_rate,            // %
  dram_bytes,             // read and written
  achieved_occupancy,     // % of the warps that a multiprocessor can hold
  theoretical_occupancy,  // %
  waves,                  // full loads of the GPU
  registers,              // of a thread
  shared_bytes,           // of a block
  local_loads,            // requests: spills and indexed arrays
  local_stores,
  global_load_sectors,  // of 32 bytes, a request
  global_store_sectors,
  shared_load_conflicts,  // extra passes a request
  shared_store_conflicts,
  issue_active,            // % of cycles in which a scheduler issues
  eligible_warps,          // of a scheduler, on average
  tensor_active,           // % of the tensor pipe
  fma_active,              // % of the FP32 pipe
  lsu_active,              // % of the load and store pipe's issue
  shared_active,           // % of the shared memory's data pipe
  branch_uniform,          // % of branches that all lanes take alike
  lanes_active,            // threads of a warp, at an instruction on average
  sm_imbalance,            // the busiest multiprocessor's active cycles over the average
  stall_long_scoreboard,   // warps waiting, per issued instruction: for global and local memory
  stall_short_scoreboard,  // for shared memory and special functions
  stall_barrier,
  stall_wait,          // for a fixed latency
  stall_not_selected,  // ready, another one was issued
  stall_math_pipe,
  stall_lg_throttle,   // queue of global and local accesses full
  stall_mio_throttle,  // queue of shared memory and special functions full
  loads,
  stores,
  shared_loads,
  shared_stores,
  atomics,      // of warps, as the four above
  reductions,   // atomics whose result is unused
  barriers,     // of blocks
  spill_bytes,  // by ptxas: loads and stores
};

enum class Unit : uint8_t { seconds, percent, bytes, count, ratio };

struct MetricInfo {
  Metric metric;
  std::string_view name;  // in JSON: global_load_sectors
  Unit unit;
  std::string_view
      counter;            // Nsight Compute's name for it; empty: it comes from the build or the emulated GPU
  std::string_view over;  // a counter that it is divided by
  std::string_view meaning;
};
std::span<const MetricInfo> metric_table();
const MetricInfo& info(Metric metric);

enum class Source : uint8_t { build, ncu, cupti, emulated };
std::string_view name(Source source);

struct KernelMetrics {
  std::string kernel;  // demangled
  int launches = 0;    // that these are the mean of
  std::map<Metric, double> values;
  std::vector<Source> sources;
  std::string missing;  // why there are no hardware counters; empty: there are

  std::optional<double> get(Metric metric) const {
    auto found = values.find(metric);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
  bool counted() const;  // by hardware
};

Json to_json(const KernelMetrics& metrics);

// Registers, spills, occupancy and waves, which need no counters. `built` may be null.
KernelMetrics metrics_of_launch(const runner::Activity& launch, const build::KernelResources* built,
                                const GpuSpec& gpu);

// Names of all counters in the table, each once.
std::vector<std::string> counter_names();
// What the table makes of counters by their names, in base units (seconds, bytes, %).
void add_counters(KernelMetrics& metrics, const std::map<std::string, double>& counters);
// What the emulated GPU counted for an activity.
void add_emulated(KernelMetrics& metrics, const std::map<std::string, double>& counters);

// Counters of launches in order, as CUPTI's range profiler gives them, become metrics of kernels.

// `kernels`: names of what the same call launched, in that order. One entry for each name, the mean of its
// launches. An Error where the two are not of the same call: a CUDA graph counts as one launch, whatever is
// in it.
Result<std::vector<KernelMetrics>> metrics_of_launches(std::span<const std::string> kernels,
                                                       std::span<const runner::Counts> launches);

}  // namespace stitch::profile
