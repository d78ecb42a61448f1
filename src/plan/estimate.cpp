#include "plan/estimate.h"

#include <algorithm>
#include <map>
#include <set>

#include "plan/layouts.h"

namespace stitch::plan {

namespace {

// Guesses until they are held against measurements: shares of the machine's rates that a technique reaches,
// and how many kernels a region takes.
struct Rate {
  double matrix;     // operations per second for products
  double bandwidth;  // share of the measured copy bandwidth
  double kernels;
};

Rate rate_of(const Region& region, const std::string& numerics, const GpuSpec& gpu) {
  std::string_view technique = region.technique;
  bool tf32_convolutions = numerics != "strict";
  if (technique == "matmul.cublaslt")
    return {numerics == "tf32"   ? 0.8 * gpu.tensor_tf32
            : numerics == "half" ? 0.8 * gpu.tensor_fp16
                                 : 0.75 * gpu.fp32,
            0.8, 1};
  // Measured on an H200: 0.81 of the bandwidth where operands count, 0.70 where the result does.
  if (technique == "matmul.split_half") return {0.75 * gpu.tensor_fp16 / 3, 0.75, 4};
  if (technique == "conv.cudnn") {
    double kernels = region.settings.empty() ? 1.5 : 1;
    if (region.settings.contains("half")) return {0.8 * gpu.tensor_fp16, 0.85, kernels};
    return {tf32_convolutions ? 0.85 * gpu.tensor_tf32 : 0.6 * gpu.fp32, 0.85, kernels};
  }
  if (technique == "conv.transposed") return {0.55 * gpu.fp32, 0.8, 1};
  if (technique == "conv.pointwise" && region.settings.contains("half"))
    return {0.7 * gpu.tensor_fp16, 0.85, 1};
  if (technique == "conv.pointwise")
    return {0.4 * gpu.tensor_tf32 / (region.settings.contains("exact") ? 3 : 1), 0.85, 1};
  if (technique == "conv.split_half") return {0.4 * gpu.tensor_fp16 / 3, 0.7, 1};
  if (technique == "attention.tensor_core")
    return {0.5 * gpu.tensor_fp16 / (numerics == "strict" || numerics == "default" ? 3 : 1), 0.7, 1};
  if (technique == "attention.flash") return {0.5 * gpu.fp32, 0.7, 1};
  if (technique == "rnn.persistent") return {0.5 * gpu.fp32, 0.7, 2};
  if (technique == "rnn.cudnn") return {0.5 * gpu.fp32, 0.5, 8};
  if (technique.ends_with(".plain")) return {0.1 * gpu.fp32, 0.5, 2};
  if (technique == "batch_norm" || technique == "row") return {gpu.fp32, 0.75, 2};
  return {gpu.fp32, 0.85, 1};
}

// What a kernel inside a CUDA graph costs besides its work: a guess too.
constexpr double kernel_latency = 1.5e-6;

// Steps of a recurrence follow each other, however small they are. Layers of one direction overlap where they
// run as a wavefront; where both directions run, each waits for the one below. By cuDNN: measured on an H200,
// 512 steps of 6 layers of 256 units took 7.5 to 8.3 ms, in both directions 20 to 22. Ours are guesses.
double step_latency(const Graph& graph, const Region& region) {
  double seconds = 0;
  for (int32_t n : region.nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    if (node.op != Op::rnn) continue;
    const Attributes& attributes = node.attributes;
    bool both = attributes.flag("bidirectional");
    auto steps =
        static_cast<double>(graph.type(node.operands[0]).shape[attributes.flag("batch_first") ? 1 : 0]);
    auto layers = static_cast<double>(attributes.integer("layers"));
    if (region.technique == "rnn.persistent")
      seconds += both ? steps * layers * 1.2e-6 : (steps + layers) * 1.8e-6;
    else if (region.technique == "rnn.cudnn")
      seconds += steps * layers * (both ? 7e-6 : 2.5e-6);
    else
      seconds += steps * layers * (both ? 2 : 1) * 4e-6;
  }
  return seconds;
}

}  // namespace

Work work_of(const Graph& graph, const Plan& plan, const Region& region) {
  Work out;
  std::set<ValueId> counted;
  auto move = [&](ValueId id) {
    if (!counted.insert(id).second) return;
    out.bytes += static_cast<double>(graph.type(id).elements() * size_of(plan.storage[index_of(id)].dtype));
  };
  for (ValueId id : region.reads) move(id);
  for (ValueId id : region.writes) move(id);
  for (int32_t n : region.nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    for (ValueId id : node.operands)
      if (id != ValueId::none && graph[id].has_data()) move(id);
    Cost own = cost(graph, node);
    out.flops += own.flops;
    out.matrix += own.matrix_flops;
  }
  return out;
}

RegionEstimate estimate(const Graph& graph, const Plan& plan, const Region& region, const GpuSpec& gpu) {
  const Work work = work_of(graph, plan, region);
  const Rate rate = rate_of(region, plan.numerics, gpu);
  RegionEstimate out{.bytes = work.bytes, .flops = work.flops};
  out.memory = out.bytes / (rate.bandwidth * gpu.bandwidth);
  out.compute = work.matrix / rate.matrix + (work.flops - work.matrix) / (0.5 * gpu.fp32);
  out.rearranging = rearranged_bytes(graph, plan, region) / (0.85 * gpu.bandwidth);
  // The work of a recurrence happens inside its steps.
  double steps = step_latency(graph, region) - std::max(out.memory, out.compute);
  out.launch = rate.kernels * kernel_latency + std::max(steps, 0.0);
  return out;
}

double estimate(const Graph& graph, const Plan& plan, const GpuSpec& gpu) {
  double sum = gpu.launch_overhead;
  std::vector<bool> constant = constant_regions(graph, plan);
  // A section takes as long as its longest branch, and no less than all of its work.
  std::map<int, double> branches;
  double work = 0;
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    if (constant[r]) continue;
    const Region& region = plan.regions[r];
    const RegionEstimate own = estimate(graph, plan, region, gpu);
    if (region.section == 0) {
      sum += own.seconds();
      continue;
    }
    branches[region.branch] += own.seconds();
    work += own.seconds() - own.launch;
    if (r + 1 < plan.regions.size() && plan.regions[r + 1].section == region.section) continue;
    for (const auto& [branch, seconds] : branches) work = std::max(work, seconds);
    sum += work + kernel_latency;  // ways part and meet
    branches.clear();
    work = 0;
  }
  return sum;
}

}  // namespace stitch::plan
