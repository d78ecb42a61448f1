// A program at work under the profilers: builds it, calls it on the device, and tells what that did.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "build/build.h"
#include "gpu/gpu_spec.h"
#include "graph/safetensors.h"
#include "profile/metrics.h"
#include "profile/timeline.h"
#include "program/package.h"
#include "runner/candidate.h"

namespace stitch::profile {

enum class CounterTool : uint8_t {
  any,    // ncu, and where there is none or it may not, CUPTI
  ncu,    // Nsight Compute around the process
  cupti,  // CUPTI's range profiler in it
};
// "any", "ncu", "cupti"
Result<CounterTool> parse_counter_tool(std::string_view name);

struct CollectOptions {
  fs::path program;  // a program folder or a .cu file
  runner::Device device = runner::Device::emulated;
  GpuSpec gpu;           // what it is built for, or estimated for
  bool counters = true;  // hardware counters of the hottest kernels; on the emulated GPU its own
  CounterTool counter_tool = CounterTool::any;
  int hottest = 3;                                // kernels that counters are read for
  fs::path nsys_report;                           // written by Nsight Systems; empty: none
  const Safetensors* weights = nullptr;           // of the model; null: random numbers
  std::chrono::milliseconds time_limit{120'000};  // for one request to the program
  std::function<void(std::string_view)> on_progress;
};

// What each region of a manifest launches when it runs alone, by name and in order; empty: not known.
using RegionKernels = std::vector<std::vector<std::string>>;

struct Collected {
  Package package;
  Manifest manifest;  // as the library says it
  build::Built built;
  Timeline timeline;                             // with its regions
  std::map<std::string, KernelMetrics> metrics;  // by the kernel's whole name
  std::string missing;                           // why there are no hardware counters; empty: there are
  std::vector<std::string> notes;
};

// Inputs and weights without data of their own are drawn: normal floats, zeros for integers.
Result<Collected> collect(const CollectOptions& options);

// Runs each region alone. Regions that read weights alone ran when the program was created: they launch
// nothing in a call. Empty if a region can't run, or takes more memory or time than there is for it.
RegionKernels kernels_of_regions(runner::Candidate& candidate, const Manifest& manifest,
                                 std::chrono::duration<double> most);

}  // namespace stitch::profile
