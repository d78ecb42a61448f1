#include "profile/regions.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "gpu/floor.h"
#include "graph/cost.h"

namespace stitch::profile {

namespace {

// The node whose first result has this name.
std::map<std::string, size_t> nodes_by_name(const Graph& graph) {
  std::map<std::string, size_t> out;
  for (size_t n = 0; n < graph.nodes.size(); ++n) out[graph[graph.nodes[n].results[0]].name] = n;
  return out;
}

std::vector<size_t> nodes_of(const std::map<std::string, size_t>& known, const ManifestRegion& region) {
  std::vector<size_t> out;
  for (const std::string& name : region.nodes)
    if (auto found = known.find(name); found != known.end()) out.push_back(found->second);
  return out;
}

DType dtype_of(const Graph& graph, const Node& node) {
  const bool has = !node.operands.empty() && node.operands[0] != ValueId::none;
  return graph.type(has ? node.operands[0] : node.results[0]).dtype;
}

void add_arithmetic(Work& work, const Graph& graph, const GraphCost& cost, size_t n, const GpuSpec& gpu) {
  const Cost& own = cost.nodes[n];
  work.flops += own.flops;
  if (own.matrix_flops <= 0) return;
  // One rate for all of them, by the time they take together.
  const double rate = matrix_rate(gpu, graph.nodes[n].op, dtype_of(graph, graph.nodes[n]));
  const double seconds = (work.matrix_rate > 0 ? work.matrix_flops / work.matrix_rate : 0) +
                         own.matrix_flops / std::max(rate, 1.0);
  work.matrix_flops += own.matrix_flops;
  work.matrix_rate = work.matrix_flops / seconds;
}

// The graph's costs, worked out once for many regions.
class Costs {
 public:
  Costs(const Graph& graph, const GpuSpec& gpu)
      : graph_(graph), gpu_(gpu), cost_(stitch::cost(graph)), names_(nodes_by_name(graph)) {}

  Work of(const ManifestRegion& region) const {
    Work out;
    for (const auto* side : {&region.reads, &region.writes})
      for (const Slot& slot : *side) out.bytes += static_cast<double>(slot.type.bytes());
    std::set<ValueId> leaves;
    for (size_t n : nodes_of(names_, region)) {
      add_arithmetic(out, graph_, cost_, n, gpu_);
      for (ValueId operand : graph_.nodes[n].operands)
        if (operand != ValueId::none && !graph_[operand].data.empty() && leaves.insert(operand).second)
          out.bytes += static_cast<double>(graph_.type(operand).bytes());
    }
    return out;
  }

 private:
  const Graph& graph_;
  const GpuSpec& gpu_;
  GraphCost cost_;
  std::map<std::string, size_t> names_;
};

// "void stitch::pointwise_kernel<Product, false, true>(…)": where tensors are aligned otherwise, another
// instance runs.
std::string_view stem(std::string_view kernel) { return kernel.substr(0, kernel.find_first_of("<(")); }

// Every kernel is the next one of the first region that waits for it: regions run in their order, and those
// that run side by side take turns. One that no region waits for is another instance of what the next of them
// launches, or some library's choice for the region at hand.
std::optional<std::vector<int>> matched_regions(const Timeline& timeline, const RegionKernels& known) {
  if (known.empty()) return std::nullopt;
  std::vector<size_t> next(known.size());
  std::vector<int> out;
  int current = -1;  // a region that is not done goes on before another one begins
  for (const Activity& activity : timeline.activities) {
    auto first_that = [&](auto&& launches) {
      auto waits = [&](size_t r) { return next[r] < known[r].size() && launches(known[r][next[r]]); };
      if (current >= 0 && waits(static_cast<size_t>(current))) return current;
      for (size_t r = 0; r < known.size(); ++r)
        if (waits(r)) return static_cast<int>(r);
      return -1;
    };
    int owner = first_that([&](const std::string& name) { return name == activity.name; });
    if (owner < 0)
      owner = first_that([&](const std::string& name) { return stem(name) == stem(activity.name); });
    if (owner >= 0) ++next[static_cast<size_t>(owner)], current = owner;
    out.push_back(owner >= 0 || activity.kind != ActivityKind::kernel ? owner : current);
  }
  return out;
}

// By their names, where it is not known what regions launch.
std::vector<int> named_regions(const Timeline& timeline, const std::vector<ManifestRegion>& regions) {
  std::vector<int> out;
  std::set<int> named;
  for (const Activity& activity : timeline.activities) {
    int found = -1;
    size_t length = 0;
    for (size_t r = 0; r < regions.size(); ++r)
      if (regions[r].name.size() > length && activity.name.find(regions[r].name) != std::string::npos) {
        found = static_cast<int>(r);
        length = regions[r].name.size();
      }
    out.push_back(found);
    if (found >= 0) named.insert(found);
  }
  // A library's kernel: the first region behind the last one seen that has no kernel of its own.
  int last = -1;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] >= 0) {
      last = std::max(last, out[i]);
      continue;
    }
    if (timeline.activities[i].kind != ActivityKind::kernel) continue;
    int next = last + 1;
    while (next < std::ssize(regions) && named.contains(next)) ++next;
    const bool before_others = std::ranges::all_of(named, [&](int r) { return r <= last || next < r; });
    if (next < std::ssize(regions) && (before_others || last >= 0)) {
      out[i] = next;
      last = next;
    } else if (last >= 0) {
      out[i] = last;
    }
  }
  return out;
}

// "folder/model.py:83, in forward: x = …" as "model.py:83: x = …".
std::string short_place(const std::string& where) {
  const size_t function = where.find(", in "), code = where.find(": ", function);
  std::string place = where.substr(0, function);
  place.erase(0, place.rfind('/') + 1);
  return function == where.npos || code == where.npos ? place : place + where.substr(code);
}

}  // namespace

void assign_regions(Timeline& timeline, const Manifest& manifest, const RegionKernels& known) {
  const std::vector<int> owners =
      matched_regions(timeline, known).value_or(named_regions(timeline, manifest.regions));
  for (size_t i = 0; i < owners.size(); ++i) timeline.activities[i].region = owners[i];
}

Work work_of(const Graph& graph, const ManifestRegion& region, const GpuSpec& gpu) {
  return Costs(graph, gpu).of(region);
}

Work work_of(const Graph& graph, const GpuSpec& gpu) {
  const GraphCost cost = stitch::cost(graph);
  Work out{.bytes = cost.boundary_bytes};
  for (size_t n = 0; n < graph.nodes.size(); ++n) add_arithmetic(out, graph, cost, n, gpu);
  return out;
}

std::vector<std::string> lines_of(const Graph& graph, const ManifestRegion& region) {
  std::vector<std::string> out;
  for (size_t n : nodes_of(nodes_by_name(graph), region))
    if (const std::string& where = graph.nodes[n].where; !where.empty())
      if (std::string line = short_place(where); std::ranges::find(out, line) == out.end())
        out.push_back(std::move(line));
  return out;
}

std::vector<Subject> subjects_of(const Timeline& timeline, const Manifest& manifest,
                                 const std::map<std::string, KernelMetrics>& metrics, const Graph* graph,
                                 const GpuSpec& gpu) {
  std::vector<Subject> out;
  std::map<std::string, size_t> seen;
  std::optional<Costs> costs;
  if (graph) costs.emplace(*graph, gpu);
  for (const Activity& activity : timeline.activities) {
    if (activity.kind != ActivityKind::kernel) continue;
    const int owner = activity.region;
    const std::string name = owner >= 0 ? manifest.regions[static_cast<size_t>(owner)].name : activity.name;
    auto [found, first] = seen.try_emplace(name, out.size());
    if (first) {
      Subject subject{.name = owner >= 0 ? name : short_name(name), .launches = 0};
      if (owner >= 0 && costs) subject.work = costs->of(manifest.regions[static_cast<size_t>(owner)]);
      out.push_back(std::move(subject));
    }
    Subject& subject = out[found->second];
    ++subject.launches;
    subject.seconds += static_cast<double>(activity.nanoseconds()) * 1e-9;
    if (!subject.launch || activity.nanoseconds() > subject.launch->nanoseconds()) {
      subject.launch = activity;
      if (auto counted = metrics.find(activity.name); counted != metrics.end())
        subject.metrics = counted->second;
      else
        subject.metrics = metrics_of_launch(activity, nullptr, gpu);
    }
  }
  // A program that is one piece does all of the work.
  if (out.size() == 1 && !out[0].work.known() && graph) out[0].work = work_of(*graph, gpu);
  return out;
}

}  // namespace stitch::profile
