// What a plan is expected to cost on a GPU, region by region: bytes, arithmetic, launches. An estimate, and
// always called one.
#pragma once

#include <vector>

#include "device/gpu_spec.h"
#include "plan/plan.h"

namespace stitch::plan {

// What a region has to do, on whatever GPU.
struct Work {
  double bytes = 0;  // moved between the region and memory
  double flops = 0;
  double matrix = 0;  // of them, products'
};
Work work_of(const Graph& graph, const Plan& plan, const Region& region);

struct RegionEstimate {
  double bytes = 0;  // as in Work
  double flops = 0;
  double memory = 0;       // seconds
  double compute = 0;      // seconds
  double rearranging = 0;  // seconds of passes before and behind a library's kernel
  double launch = 0;       // seconds of latency that nothing hides
  double seconds() const { return (memory > compute ? memory : compute) + rearranging + launch; }
};

RegionEstimate estimate(const Graph& graph, const Plan& plan, const Region& region, const GpuSpec& gpu);
// The whole pass: regions one after the other, but for sections, whose branches share the machine.
double estimate(const Graph& graph, const Plan& plan, const GpuSpec& gpu);

}  // namespace stitch::plan
