#include "cli/commands/profile_estimate.h"

#include <algorithm>
#include <map>

#include "plan/cost/estimate.h"

namespace stitch {

namespace {

std::map<int, int> launches_by_region(const profile::Timeline& timeline) {
  std::map<int, int> out;
  for (const profile::Activity& activity : timeline.activities) ++out[activity.region];
  return out;
}

}  // namespace

plan::PlannedCall estimated_call(const profile::Timeline& timeline, const Manifest& manifest,
                                 const Graph& graph, const GpuSpec& gpu) {
  const std::map<int, int> launches = launches_by_region(timeline);
  plan::PlannedCall out{.gpu = gpu.name, .seconds = gpu.launch_overhead};
  for (size_t r = 0; r < manifest.regions.size(); ++r) {
    const auto found = launches.find(static_cast<int>(r));
    double seconds = 0;
    if (found != launches.end()) {
      const profile::Work work = profile::work_of(graph, manifest.regions[r], gpu);
      seconds = plan::estimate(gpu, {work.bytes, work.flops, work.matrix_flops},
                               {0.7 * work.matrix_rate, plan::streaming_share, double(found->second)})
                    .seconds();
    }
    out.regions.push_back({manifest.regions[r].name, out.seconds, seconds});
    out.seconds += seconds;
  }
  return out;
}

void estimate_times(profile::Timeline& timeline, const plan::PlannedCall& planned) {
  auto nanoseconds = [](double seconds) { return static_cast<int64_t>(seconds * 1e9 + 0.5); };
  const std::map<int, int> launches = launches_by_region(timeline);
  std::map<int, int> done;
  int64_t at = 0;  // activities of no region are told where they stand, without a length
  for (profile::Activity& activity : timeline.activities) {
    activity.start_ns = activity.end_ns = at;
    if (activity.region < 0) continue;
    const plan::PlannedCall::Region& region = planned.regions.at(static_cast<size_t>(activity.region));
    const double each = region.seconds / launches.at(activity.region);
    const int number = done[activity.region]++;
    activity.start_ns = nanoseconds(region.start + each * number);
    activity.end_ns = nanoseconds(region.start + each * (number + 1));
    at = activity.end_ns;
  }
  // Concurrent branches were launched one after the other.
  std::ranges::stable_sort(timeline.activities, {}, &profile::Activity::start_ns);
  timeline.times = at > 0 ? profile::Times::estimated : profile::Times::none;
}

profile::Timeline estimated_timeline(const plan::PyTorchEstimate& estimate, const Graph& graph,
                                     const GpuSpec& gpu, bool in_a_graph) {
  std::vector<profile::Activity> activities;
  double at = 0;
  for (const plan::PyTorchEstimate::Operator& one : estimate.operators) {
    const Node& node = graph.nodes[one.node];
    std::string title(info(node.op).name);
    if (!node.module.empty()) title += " of " + node.module;
    const double start = in_a_graph ? at : one.start;
    at = start + one.seconds;
    activities.push_back({.name = std::move(title),
                          .start_ns = static_cast<int64_t>(start * 1e9),
                          .end_ns = static_cast<int64_t>(at * 1e9),
                          .in_graph = in_a_graph});
  }
  profile::Timeline out = profile::make_timeline(profile::Side::pytorch, gpu.name, std::move(activities));
  out.times = profile::Times::estimated;
  out.note = in_a_graph ? "estimated: a kernel per operator, replayed as one CUDA graph"
                        : "estimated: a kernel per operator, each dispatched by the host";
  return out;
}

}  // namespace stitch
