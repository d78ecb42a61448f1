// What a plan is expected to cost on a GPU, region by region: bytes, arithmetic, launches. An estimate, and
// always called one.
#pragma once

#include <functional>

#include "device/calibration.h"
#include "plan/technique.h"

namespace stitch::plan {

// The share of the copy bandwidth that a pass over an image reaches.
inline constexpr double streaming_share = 0.85;

// What a region has to do, on whatever GPU.
struct Work {
  double bytes = 0;  // moved between the region and memory
  double flops = 0;
  double matrix = 0;  // of them, products'
};
Work work_of(const Graph& graph, const Plan& plan, const Region& region);
// By the memory that kernels move, and their starts.
double seconds_of(const GpuSpec& gpu, const Traffic& traffic);

struct RegionEstimate {
  double bytes = 0;  // as in Work
  double flops = 0;
  double memory = 0;       // seconds
  double compute = 0;      // seconds
  double rearranging = 0;  // seconds of passes before and behind a library's kernel
  double launch = 0;       // seconds of latency that nothing hides
  double seconds() const { return (memory > compute ? memory : compute) + rearranging + launch; }
};
// With what a technique was measured to take over it; null: as it is.
double seconds_of(const RegionEstimate& parts, const Calibrated* calibrated);

// Its parts with the same.
RegionEstimate calibrated(RegionEstimate parts, const Calibrated* by);

// From the technique's own rates, without a calibration.
RegionEstimate estimate_without_calibration(const Context& context, const Plan& plan, const Region& region);
// Its parts calibrated, where the GPU has a calibration.
RegionEstimate estimate(const Context& context, const Plan& plan, const Region& region);
// The whole pass: regions one after the other, but for sections, whose branches share the machine.
double estimate(const Context& context, const Plan& plan);
// The same with regions' times from somebody who knows better.
using RegionTimes = std::function<RegionEstimate(const Region&)>;
double estimate(const Context& context, const Plan& plan, const RegionTimes& times);

}  // namespace stitch::plan
