#include "plan/steps.h"

#include <array>
#include <set>

#include "plan/estimate.h"

namespace stitch::plan {

namespace {

constexpr std::array rules = {
    StepRule{"libraries",
             "products and convolutions by cuBLASLt and cuDNN, attention without its scores in memory, "
             "recurrences "
             "with their weights in registers, else by cuDNN",
             choose_techniques},
    StepRule{"epilogues", "what follows a product happens before its result reaches memory", fuse_epilogues},
    StepRule{"loops", "chains of element-wise nodes and reductions become single kernels", fuse_loops},
};

// Regions that the step made: those whose nodes or technique were not there before.
std::vector<std::string> changed_regions(const Plan& before, const Plan& after) {
  std::set<std::pair<std::vector<int32_t>, std::string>> known;
  for (const Region& region : before.regions) known.emplace(region.nodes, region.technique);
  std::vector<std::string> out;
  for (const Region& region : after.regions)
    if (!known.contains({region.nodes, region.technique})) out.push_back(region.name);
  return out;
}

}  // namespace

std::span<const StepRule> all_steps() { return rules; }

Result<Plan> make_plan(const Graph& graph, const std::string& numerics, const Techniques& techniques,
                       const GpuSpec& gpu) {
  STITCH_TRY(Plan plan, plain_plan(graph, numerics, techniques.plain));
  // Blocks that wait for each other must all be there at once.
  for (Region& region : plan.regions)
    if (graph.nodes[static_cast<size_t>(region.nodes[0])].op == Op::rnn)
      region.settings.emplace("processors", gpu.sms);
  for (const StepRule& rule : all_steps()) {
    STITCH_TRY(Plan next, rule.apply(graph, plan, techniques));
    STITCH_CHECK(check(graph, next));
    std::vector<std::string> changed = changed_regions(plan, next);
    double gain = estimate(graph, plan, gpu) - estimate(graph, next, gpu);
    if (changed.empty() || gain <= 0) continue;
    next.steps.push_back({std::string(rule.name), std::string(rule.why), std::move(changed), gain});
    plan = std::move(next);
  }
  return plan;
}

}  // namespace stitch::plan
