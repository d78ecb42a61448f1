#include "plan/precision/half_budget.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "plan/cost/estimate.h"
#include "plan/precision/error_budget.h"
#include "plan/regions/views.h"

namespace stitch::plan {

namespace {

// Is it read as an operand of the region's product, which rounds it, and by nothing else there?
bool only_multiplies(const Context& context, const Region& region, ValueId value) {
  if (kind_of(context.graph, region) != Kind::product ||
      region.technique->operand_precision(context, region) == Precision::f32)
    return false;
  std::set<ValueId> views = {value};
  for (int32_t n : region.nodes) {
    const Node& node = context.graph.node(n);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      if (!views.contains(node.operands[i])) continue;
      if (is_strided_view(node.op))
        views.insert(node.results[0]);
      else if (node.op == Op::linear || node.op == Op::matmul || node.op == Op::einsum ? i > 1 : true)
        return false;
    }
  }
  return true;
}

bool takes(const Context& context, const Plan& plan, const Region& region) {
  return region.technique->accepts_storage(context, plan, region) &&
         region.technique->can_write(context, plan, region);
}

// Its technique, or one that rounds as much, reads the value as it is stored now.
bool make_it_read(const Context& context, const Plan& plan, Region& region, const Catalogue& catalogue) {
  const Precision now = region.technique->operand_precision(context, region);
  for (const Technique* technique : catalogue.all()) {
    if (technique->entry() != Entry::approximate || technique->kind() != Kind::product ||
        !technique->accepts(context, region))
      continue;
    Region changed = region;
    changed.technique = technique;
    changed.offer = technique->offers(context, region).front();
    if (technique != region.technique) changed.choices.clear();
    if (technique->operand_precision(context, changed) != now || !takes(context, plan, changed)) continue;
    region = std::move(changed);
    return true;
  }
  return false;
}

// The plan with this value in fp16; nothing where that isn't possible, or gains nothing.
std::optional<Plan> stored_in_half(const Context& context, const Plan& plan, ValueId value,
                                   const Catalogue& catalogue) {
  Plan next = plan;
  next.storage[index_of(value)].dtype = DType::f16;
  double gain = 0;
  bool made = false, read = false;
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    Region& region = next.regions[r];
    const bool makes = std::ranges::find(region.writes, value) != region.writes.end();
    const bool reads = std::ranges::find(region.reads, value) != region.reads.end();
    if (!makes && !reads) continue;
    if (reads && !only_multiplies(context, region, value)) return std::nullopt;
    if (!(reads ? make_it_read(context, next, region, catalogue) : takes(context, next, region)))
      return std::nullopt;
    gain += estimate(context, plan, plan.regions[r]).seconds() - estimate(context, next, region).seconds();
    made |= makes;
    read |= reads;
  }
  if (!made || !read || gain <= 0) return std::nullopt;
  return next;
}

}  // namespace

Result<Plan> store_half_operands(const Context& context, Plan plan, const Catalogue& catalogue) {
  // Squares: 85 % of the error. Products spend as much before, so this stops what measured badly only.
  constexpr double share = 0.72;
  if (context.numerics != Numerics::tf32 || !context.torch.errors) return plan;
  const Graph& graph = context.graph;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    const bool leaves =
        std::ranges::find(graph.outputs, id) != graph.outputs.end() ||
        std::ranges::any_of(graph.updates, [&](const Update& each) { return each.value == id; });
    if (leaves || graph[id].role != Role::result || graph.type(id).dtype != DType::f32 ||
        plan.storage[v] != Storage{} || !fits_half(*context.torch.errors, graph, id))
      continue;
    std::optional<Plan> next = stored_in_half(context, plan, id, catalogue);
    if (next && stays_within(*errors_of(context, plan), *errors_of(context, *next), share))
      plan = *std::move(next);
  }
  return plan;
}

}  // namespace stitch::plan
