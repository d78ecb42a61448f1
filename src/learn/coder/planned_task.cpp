#include "learn/coder/planned_task.h"

#include <algorithm>
#include <set>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "plan/cost/estimate.h"
#include "plan/steps.h"

namespace stitch::learn {

namespace {

std::string key_of(const PlannedTask& task, const plan::Region& region) {
  const Graph& graph = task.graph;
  Sha256 sum;
  sum.add_field(task.gpu.name);
  sum.add_field(name(task.plan.numerics));
  // Values by the order in which the region meets them: names are the model's.
  std::vector<ValueId> met;
  auto value = [&](ValueId id) -> std::string {
    if (id == ValueId::none) return "none";
    auto found = std::ranges::find(met, id);
    const bool fresh = found == met.end();
    const auto number = found - met.begin();
    if (!fresh) return format("#{}", number);
    met.push_back(id);
    const plan::Storage& storage = task.plan.storage[index_of(id)];
    return format("{} {} [{}]{}", text(graph.type(id)), name(storage.dtype), join(storage.order, ","),
                  graph[id].has_data() ? " weight" : "");
  };
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    sum.add_field(info(node.op).name);
    for (ValueId id : node.operands) sum.add_field(value(id));
    for (const auto& [key, attribute] : node.attributes) sum.add_field(key + "=" + text(attribute));
    for (ValueId id : node.results) sum.add_field(value(id));
  }
  for (ValueId id : region.writes) sum.add_field(value(id));
  // What may be chosen depends on how coarse the plan has it.
  sum.add_field(plan::name(region.offer.arithmetic));
  return sum.hex().substr(0, 16);
}

}  // namespace

Result<std::shared_ptr<const PlannedTask>> plan_task(std::string name, Graph graph, const GpuSpec& gpu,
                                                     Numerics numerics, std::string set) {
  auto out = std::make_shared<PlannedTask>();
  out->name = std::move(name);
  out->set = std::move(set);
  out->graph = std::move(graph);
  out->gpu = gpu;
  out->context = std::make_unique<plan::Context>(out->graph, out->gpu, numerics);
  STITCH_TRY(out->plan, plan::make_plan(*out->context, code::catalogue()));
  return std::shared_ptr<const PlannedTask>(std::move(out));
}

std::vector<RegionProblem> problems_of(const std::shared_ptr<const PlannedTask>& task, double least_share) {
  std::vector<RegionProblem> out;
  std::set<std::string> known;
  const std::vector<bool> constant = plan::constant_regions(task->graph, task->plan);
  const double least = least_share * plan::estimate(*task->context, task->plan);
  for (size_t r = 0; r < task->plan.regions.size(); ++r) {
    const plan::Region& region = task->plan.regions[r];
    if (constant[r] || region.source) continue;
    if (plan::estimate(*task->context, task->plan, region).seconds() < least) continue;
    const std::vector<plan::Way> ways = ways_of(*task->context, task->plan, region, code::catalogue());
    if (ways.size() < 2 && open_knobs(*task->context, region).empty()) continue;
    std::string key = key_of(*task, region);
    if (known.insert(key).second) out.push_back({task, r, std::move(key)});
  }
  return out;
}

}  // namespace stitch::learn
