// The cost model: what a plan is expected to take on a GPU, region by region, from bytes, arithmetic and
// launches.
#pragma once

#include <functional>

#include "gpu/calibration.h"
#include "plan/technique.h"

namespace stitch::plan {

// Share of the copy bandwidth that a streaming pass over an image reaches.
inline constexpr double streaming_share = 0.85;

// The work of a region, independent of the GPU.
struct Work {
  double bytes = 0;  // moved between the region and memory
  double flops = 0;
  double matrix = 0;  // the part in matrix products
};
Work work_of(const Graph& graph, const Plan& plan, const Region& region);
// From the bytes that kernels move, and their launches.
double seconds_of(const GpuSpec& gpu, const Traffic& traffic);

struct RegionEstimate {
  double bytes = 0;  // as in Work
  double flops = 0;
  double memory = 0;       // seconds
  double compute = 0;      // seconds
  double rearranging = 0;  // seconds of layout conversions before and after a library's kernel
  double launch = 0;       // seconds of exposed latency
  double seconds() const { return (memory > compute ? memory : compute) + rearranging + launch; }
};
// Scaled by a technique's measured calibration; null: uncalibrated.
double seconds_of(const RegionEstimate& parts, const Calibrated* calibrated);

// Work at the rates that its kernels reach, and their launches: regions of a plan, PyTorch's operators and
// programs written by hand are all estimated by this.
RegionEstimate estimate(const GpuSpec& gpu, const Work& work, const Rate& rate);

// Each part scaled by the calibration.
RegionEstimate calibrated(RegionEstimate parts, const Calibrated* by);

// The least it could take: its bytes and arithmetic at the GPU's full rates.
double floor_of(const Context& context, const Plan& plan, const Region& region);

// From the technique's own rates, without a calibration.
RegionEstimate estimate_without_calibration(const Context& context, const Plan& plan, const Region& region);
// Calibrated, where the GPU has a calibration.
RegionEstimate estimate(const Context& context, const Plan& plan, const Region& region);

// The whole forward pass: regions in sequence, except that the branches of a section share the GPU.
struct Schedule {
  struct Entry {
    double start = 0, seconds = 0;  // 0 seconds: it reads weights alone and runs when the program is created
  };
  std::vector<Entry> regions;  // in the plan's order
  double seconds = 0;          // from the call to the end of the last region
};
// With region times from another source, such as measurements.
using RegionTimes = std::function<RegionEstimate(const Region&)>;
Schedule schedule(const Context& context, const Plan& plan, const RegionTimes& times);
Schedule schedule(const Context& context, const Plan& plan);
double estimate(const Context& context, const Plan& plan);
double estimate(const Context& context, const Plan& plan, const RegionTimes& times);

}  // namespace stitch::plan
