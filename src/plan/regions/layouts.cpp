#include "plan/regions/layouts.h"

#include <algorithm>

#include "plan/cost/estimate.h"
#include "plan/precision/half_budget.h"
#include "plan/regions/layout_chooser.h"

namespace stitch::plan {

const Node* convolution_in(const Graph& graph, const Region& region) {
  for (int32_t n : region.nodes)
    if (const Node& node = graph.node(n); is_convolution(node.op)) return &node;
  return nullptr;
}

std::vector<int64_t> channels_last_order(int64_t rank) {
  std::vector<int64_t> order = {0};
  for (int64_t d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}

bool is_channels_last(const Graph& graph, const Plan& plan, ValueId id) {
  return plan.storage[index_of(id)].order == channels_last_order(graph.type(id).rank());
}

namespace {

bool is_faster(const Context& context, const Plan& plan, const Region& region, const Region& than) {
  return estimate(context, plan, region).seconds() < estimate(context, plan, than).seconds();
}

}  // namespace

// Where an image stays row-major, a technique that takes it so and multiplies in fp16, too, may save the
// conversions; one that writes any order, those before a result that is channels last. `convolutions` may
// multiply in fp16; those that don't yet do so where that is faster.
void keep_row_major(const Context& context, Plan& plan, const Catalogue& catalogue,
                    const std::set<int32_t>& convolutions) {
  constexpr Offer offer{Arithmetic::half, Order::row_major};
  for (Region& region : plan.regions) {
    const Node* node = convolution_in(context.graph, region);
    const bool half = region.offer.arithmetic == Arithmetic::half;
    if (!node || !(half || convolutions.contains(context.graph.number_of(*node))) ||
        !region.technique->gives_way(context, region) ||
        is_channels_last(context.graph, plan, node->operands[0]))
      continue;
    const bool moved = !half || is_channels_last(context.graph, plan, region.writes[0]);
    for (const Technique* technique : catalogue.all()) {
      if (technique->kind() != Kind::convolution || (moved && !technique->takes_any_order()) ||
          !technique->accepts(context, region) || !offers(*technique, context, region, offer) ||
          !technique->suits(context, region, offer))
        continue;
      Region changed = region;
      changed.technique = technique;
      changed.offer = offer;
      changed.choices = {};
      if (moved && !is_faster(context, plan, changed, region)) continue;
      region = std::move(changed);
      break;
    }
  }
}

namespace {

// Convolutions behind which no other of these comes.
std::set<int32_t> last_of(const Graph& graph, const std::set<int32_t>& convolutions) {
  std::vector<std::vector<int32_t>> readers = users(graph);
  std::vector<bool> leads(graph.nodes.size());  // to one of them
  std::set<int32_t> out;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    bool further = false;
    for (ValueId id : graph.nodes[n].results)
      for (int32_t reader : readers[index_of(id)]) further |= leads[static_cast<size_t>(reader)];
    const bool own = convolutions.contains(static_cast<int32_t>(n));
    if (own && !further) out.insert(static_cast<int32_t>(n));
    leads[n] = own || further;
  }
  return out;
}

bool has_half(const Plan& plan) {
  return std::ranges::any_of(plan.regions,
                             [](const Region& region) { return region.offer.rounds_to_half(); });
}

// At FP32's accuracy, with the technique that suits best.
void make_exact(const Context& context, Region& region, const Catalogue& catalogue) {
  const Offer exact{Arithmetic::exact, region.offer.order};
  const Technique* own = region.technique;
  if (own->is_exact(region.offer)) return;
  for (const Technique* technique : catalogue.all()) {
    if (technique->kind() != own->kind() || technique->entry() != Entry::fast) continue;
    const bool may =
        technique == own || (own->gives_way(context, region) && technique->accepts(context, region) &&
                             technique->suits(context, region, exact));
    if (!may || !offers(*technique, context, region, exact)) continue;
    region.technique = technique;
    region.offer = exact;
    return;
  }
}

}  // namespace

Result<Plan> store_half(const Context& context, Plan plan, const Catalogue& catalogue) {
  if (context.torch.errors) return store_all_half(context, std::move(plan), catalogue);
  const LayoutWish wish{Arithmetic::half, context.rounding.ten_bit_convolutions()};
  Plan out = LayoutChooser(context, plan, catalogue, wish).choose();
  keep_row_major(context, out, catalogue, wish.convolutions);
  return out;
}

Result<Plan> store_half_before_last(const Context& context, Plan plan, const Catalogue& catalogue) {
  // Running statistics show what every layer rounds, not what is left of it in the end.
  if (!context.rounding.follows_pytorch() || !context.graph.updates.empty() || has_half(plan)) return plan;
  if (context.torch.errors) return plan;
  LayoutWish wish{Arithmetic::half, context.rounding.ten_bit_convolutions()};
  for (int32_t n : last_of(context.graph, wish.convolutions)) wish.convolutions.erase(n);
  if (wish.convolutions.empty()) return plan;
  Plan out = LayoutChooser(context, plan, catalogue, wish).choose();
  keep_row_major(context, out, catalogue, wish.convolutions);
  return out;
}

Result<Plan> store_half_beside_exact(const Context& context, Plan plan, const Catalogue& catalogue) {
  // With half already, all of them lose bits, and a Verifier agreed.
  if (!context.rounding.follows_pytorch() || has_half(plan) || context.torch.errors) return plan;
  const LayoutWish wish{Arithmetic::half_exact_bias, context.rounding.tf32_in_pytorch(), true};
  if (wish.convolutions.empty()) return plan;
  for (Region& region : plan.regions) {
    const Node* node = convolution_in(context.graph, region);
    if (!node || context.graph.type(node->results[0]).dtype != DType::f32) continue;
    if (!context.rounding.is_tf32_in_pytorch(static_cast<int32_t>(node - context.graph.nodes.data())))
      make_exact(context, region, catalogue);
  }
  return LayoutChooser(context, plan, catalogue, wish).choose();
}

Result<Plan> store_channels_last(const Context& context, Plan plan, const Catalogue& catalogue) {
  LayoutWish wish{Arithmetic::by_class, context.rounding.ten_bit_convolutions()};
  // Convolutions of fp16 and bf16 have one arithmetic, whatever the class.
  for (int32_t n = 0; n < std::ssize(context.graph.nodes); ++n)
    if (const Node& node = context.graph.node(n);
        is_convolution(node.op) && size_of(context.graph.type(node.results[0]).dtype) == 2)
      wish.convolutions.insert(n);
    else if (is_convolution(node.op) && !wish.convolutions.contains(n))
      wish.exact.insert(n);
  return LayoutChooser(context, plan, catalogue, wish).choose();
}

}  // namespace stitch::plan
