#include "plan/cost/estimate.h"

#include <algorithm>
#include <map>
#include <set>

#include "plan/cost/cost_fit.h"

namespace stitch::plan {

Work work_of(const Graph& graph, const Plan& plan, const Region& region) {
  Work out;
  std::set<ValueId> counted;
  // Of a value that is only cut or looked up in, what comes out of that.
  auto touched = [&](ValueId id) {
    int64_t of_parts = 0;
    for (int32_t n : region.nodes) {
      const Node& node = graph.node(n);
      const auto times = std::ranges::count(node.operands, id);
      if (times == 0) continue;
      const bool part =
          node.op == Op::slice || (node.op == Op::index && node.operands[0] == id && times == 1);
      of_parts += graph.type(part ? node.results[0] : id).elements();
    }
    const int64_t all = graph.type(id).elements();
    return of_parts == 0 ? all : std::min(all, of_parts);
  };
  auto move = [&](ValueId id, int64_t elements) {
    if (!counted.insert(id).second) return;
    out.bytes += static_cast<double>(elements * size_of(plan.storage[index_of(id)].dtype));
  };
  for (ValueId id : region.reads) move(id, touched(id));
  for (ValueId id : region.writes) move(id, graph.type(id).elements());
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    for (ValueId id : node.operands)
      if (id != ValueId::none && graph[id].has_data()) move(id, touched(id));
    Cost own = cost(graph, node);
    out.flops += own.flops;
    out.matrix += own.matrix_flops;
  }
  return out;
}

double seconds_of(const GpuSpec& gpu, const Traffic& traffic) {
  return traffic.bytes / gpu.bandwidth + traffic.kernels * gpu.kernel_overhead;
}

double seconds_of(const RegionEstimate& parts, const Calibrated* calibrated) {
  if (!calibrated) return parts.seconds();
  return std::max(parts.memory * calibrated->memory, parts.compute * calibrated->compute) +
         parts.rearranging + parts.launch + calibrated->seconds;
}

RegionEstimate estimate(const Context& context, const Plan& plan, const Region& region) {
  const Calibration* calibration = context.gpu.calibration.get();
  return calibrated(estimate_without_calibration(context, plan, region),
                    calibration ? calibration->find(way_of(region)) : nullptr);
}

RegionEstimate calibrated(RegionEstimate parts, const Calibrated* by) {
  if (!by) return parts;
  parts.memory *= by->memory;
  parts.compute *= by->compute;
  parts.launch += by->seconds;
  return parts;
}

double floor_of(const Context& context, const Plan& plan, const Region& region) {
  const Work work = work_of(context.graph, plan, region);
  const double compute =
      work.matrix / context.gpu.tensor_fp16 + (work.flops - work.matrix) / context.gpu.fp32;
  return std::max(work.bytes / context.gpu.bandwidth, compute);
}

RegionEstimate estimate(const GpuSpec& gpu, const Work& work, const Rate& rate) {
  RegionEstimate out{.bytes = work.bytes, .flops = work.flops};
  out.memory = work.bytes / (rate.bandwidth * gpu.bandwidth);
  out.compute =
      (work.matrix > 0 ? work.matrix / rate.matrix : 0) + (work.flops - work.matrix) / (0.5 * gpu.fp32);
  out.launch = rate.kernels * gpu.kernel_overhead;
  return out;
}

RegionEstimate estimate_without_calibration(const Context& context, const Plan& plan, const Region& region) {
  const GpuSpec& gpu = context.gpu;
  Work work = work_of(context.graph, plan, region);
  work.bytes = region.technique->kernel_bytes(context, region).value_or(work.bytes);
  RegionEstimate out = estimate(gpu, work, region.technique->rate(context, region));
  out.rearranging =
      region.technique->rearranged_bytes(context, plan, region) / (streaming_share * gpu.bandwidth);
  // The work of a recurrence happens inside its steps.
  const double steps = region.technique->latency(context, region) - std::max(out.memory, out.compute);
  out.launch += std::max(steps, 0.0);
  return out;
}

Schedule schedule(const Context& context, const Plan& plan, const RegionTimes& times) {
  Schedule out{.regions = std::vector<Schedule::Entry>(plan.regions.size()),
               .seconds = context.gpu.launch_overhead};
  const std::vector<bool> constant = constant_regions(context.graph, plan);
  // A section takes as long as its longest branch, and no less than all of its work.
  std::map<int, double> branches;
  double work = 0;
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const Region& region = plan.regions[r];
    if (!constant[r]) {
      const RegionEstimate own = times(region);
      double& branch = branches[region.branch];
      out.regions[r] = {out.seconds + branch, own.seconds()};
      branch += own.seconds();
      work += own.seconds() - own.launch;
    }
    const bool section_goes_on =
        region.section != 0 && r + 1 < plan.regions.size() && plan.regions[r + 1].section == region.section;
    if (section_goes_on) continue;
    for (const auto& [branch, seconds] : branches) work = std::max(work, seconds);
    out.seconds += work;
    if (region.section != 0) out.seconds += context.gpu.kernel_overhead;  // branches fork and join
    branches.clear();
    work = 0;
  }
  return out;
}

Schedule schedule(const Context& context, const Plan& plan) {
  return schedule(context, plan, [&](const Region& region) { return estimate(context, plan, region); });
}

double estimate(const Context& context, const Plan& plan) { return schedule(context, plan).seconds; }

double estimate(const Context& context, const Plan& plan, const RegionTimes& times) {
  return schedule(context, plan, times).seconds;
}

}  // namespace stitch::plan
