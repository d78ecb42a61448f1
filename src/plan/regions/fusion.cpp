// Fusion around products and convolutions: epilogues, concats, pools, gates.
#include "plan/regions/fusion.h"

#include <algorithm>
#include <optional>
#include <set>

#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/cost/live_memory.h"
#include "plan/regions/grouping.h"
#include "plan/regions/layouts.h"
#include "plan/regions/views.h"

namespace stitch::plan {

namespace {

// Some techniques can fuse a pool after the last element-wise node.
bool is_pool(const Graph& graph, const Region& region) {
  return region.nodes.size() == 1 && info(graph.node(region.nodes[0]).op).family == Family::pool;
}

// Where an epilogue costs another pass over the result, it is left to a pool, norm or reduction after it,
// which reads the result anyway.
bool leaves_epilogue(const Graph& graph, const Grouping& groups, size_t r, size_t follower) {
  if (groups[r].technique->has_free_epilogue()) return false;
  const Region& next = groups[follower];
  // 16-bit convolutions compute in NHWC, so a transpose to NHWC is free.
  const bool only_views = std::ranges::all_of(
      next.nodes, [&](int32_t n) { return info(graph.node(n).op).family == Family::view; });
  if (only_views && size_of(graph.type(groups[r].writes[0]).dtype) == 2 &&
      is_wanted_channels_last(graph, groups[r].writes[0]))
    return false;
  if (next.nodes.size() == 1 && graph.node(next.nodes[0]).op == Op::relu) return false;
  while (element_wise(graph, groups[follower])) {
    std::set<size_t> consumers = groups.consumers(follower);
    if (consumers.size() != 1) return false;
    follower = *consumers.begin();
  }
  return !has_product(graph, groups[follower]);
}

// An exact technique for a convolution with the pool after it; null: none.
const Technique* with_pool(const Context& context, const Region& both, const Catalogue& catalogue) {
  if (kind_of(context.graph, both) != Kind::convolution || !both.technique->is_exact(both.offer))
    return nullptr;
  for (const Technique* each : catalogue.all())
    if (each->kind() == Kind::convolution && each->accepts(context, both) &&
        offers(*each, context, both, both.offer) && each->is_exact(both.offer) &&
        each->suits(context, both, both.offer))
      return each;
  return nullptr;
}

// Convolutions that are only read by one concat join it, where a technique can write all of them.
void fuse_concats(const Context& context, Grouping& groups, const Catalogue& catalogue) {
  if (context.torch.as_pytorch) return;  // each must round as PyTorch's does
  const Graph& graph = context.graph;
  for (size_t r = 0; r < groups.size(); ++r) {
    if (groups[r].nodes.size() != 1 || graph.node(groups[r].nodes[0]).op != Op::concat) continue;
    std::vector<size_t> makers;
    for (size_t p = 0; p < groups.size(); ++p)
      if (groups.alive(p) && kind_of(graph, groups[p]) == Kind::convolution && groups[p].writes.size() == 1 &&
          groups.consumers(p) == std::set<size_t>{r})
        makers.push_back(p);
    if (makers.size() != groups[r].reads.size()) continue;
    Region all{.name = groups[r].name, .nodes = groups[r].nodes};
    for (size_t p : makers) all.nodes.insert(all.nodes.end(), groups[p].nodes.begin(), groups[p].nodes.end());
    std::ranges::sort(all.nodes);
    complete(graph, all);
    for (const Technique* technique : catalogue.all()) {
      if (technique->kind() != Kind::convolution || !technique->accepts(context, all)) continue;
      all.technique = technique;
      for (size_t p : makers) groups.merge(r, p, all);
      break;
    }
  }
}

Result<Plan> fuse_epilogues_where(const Context& context, Plan plan, const Catalogue& catalogue,
                                  const MayDelay& may_delay) {
  const Graph& graph = context.graph;
  Grouping groups(graph, plan.regions);
  for (size_t r = 0; r < groups.size(); ++r) {
    if (!groups.alive(r) || !has_product(graph, groups[r])) continue;
    for (;;) {
      std::set<size_t> next = groups.consumers(r);
      if (next.size() != 1 || groups[r].writes.size() != 1 || groups.detour(r, *next.begin())) break;
      size_t follower = *next.begin();
      if (!is_pool(graph, groups[follower]) &&
          (!element_wise(graph, groups[follower]) || leaves_epilogue(graph, groups, r, follower)))
        break;
      if (!may_delay(groups, r, follower)) break;
      Region both = groups.merged(r, follower);
      both.technique = groups[r].technique;
      both.offer = groups[r].offer;
      both.choices = groups[r].choices;
      if (is_pool(graph, groups[follower])) both.technique = with_pool(context, both, catalogue);
      if (both.writes.size() != 1 || !both.technique || !both.technique->accepts(context, both)) break;
      // Another technique's convolution may cost more than the pool's reading does.
      if (both.technique != groups[r].technique &&
          estimate(context, plan, both).seconds() >= estimate(context, plan, groups[r]).seconds() +
                                                         estimate(context, plan, groups[follower]).seconds())
        break;
      groups.merge(r, follower, std::move(both));
    }
  }
  fuse_concats(context, groups, catalogue);
  plan.regions = groups.in_order();
  return take_views(context, std::move(plan));
}

}  // namespace

Result<Plan> fuse_epilogues(const Context& context, Plan plan, const Catalogue& catalogue) {
  return fuse_within_memory(context, plan, [&](const MayDelay& may_delay) {
    return fuse_epilogues_where(context, plan, catalogue, may_delay);
  });
}

namespace {

bool ends_in_pool(const Graph& graph, const Region& region) {
  const Region last{.nodes = {region.nodes.back()}};
  Region before = region;
  before.nodes.pop_back();
  return is_pool(graph, last) && element_wise(graph, before);
}

// Both as one convolution in fp16 of an image that lies row-major, or nothing.
std::optional<Region> pooled_convolution(const Context& context, const Plan& plan, const Catalogue& catalogue,
                                         const Region& both) {
  constexpr Offer offer{Arithmetic::half, Order::row_major};
  Region out = both;
  out.offer = offer;
  for (const Technique* technique : catalogue.all()) {
    if (technique->kind() != Kind::convolution) continue;
    out.technique = technique;
    if (technique->accepts(context, out) && offers(*technique, context, out, offer) &&
        technique->suits(context, out, offer) && technique->accepts_storage(context, plan, out))
      return out;
  }
  return std::nullopt;
}

}  // namespace

Result<Plan> fuse_pools(const Context& context, Plan plan, const Catalogue& catalogue) {
  const Graph& graph = context.graph;
  Grouping groups(graph, plan.regions);
  for (size_t r = 0; r < groups.size(); ++r) {
    if (!groups.alive(r) || kind_of(graph, groups[r]) != Kind::convolution ||
        groups[r].offer.arithmetic != Arithmetic::half || groups[r].writes.size() != 1)
      continue;
    const std::set<size_t> next = groups.consumers(r);
    if (next.size() != 1 || groups.detour(r, *next.begin()) || !ends_in_pool(graph, groups[*next.begin()]) ||
        is_channels_last(graph, plan, convolution_in(graph, groups[r])->operands[0]))
      continue;
    const Region &convolution = groups[r], &pool = groups[*next.begin()];
    auto both = pooled_convolution(context, plan, catalogue, groups.merged(r, *next.begin()));
    if (!both || both->writes.size() != 1 ||
        estimate(context, plan, *both).seconds() >=
            estimate(context, plan, convolution).seconds() + estimate(context, plan, pool).seconds())
      continue;
    groups.merge(r, *next.begin(), *std::move(both));
  }
  plan.regions = groups.in_order();
  return plan;
}

Result<Plan> fuse_gates(const Context& context, Plan plan, const Catalogue&) {
  const Graph& graph = context.graph;
  Grouping groups(graph, std::move(plan.regions));
  for (size_t r = 0; r < groups.size(); ++r) {
    if (!groups.alive(r) || has_product(graph, groups[r]) || !element_wise(graph, groups[r])) continue;
    const std::set<size_t> next = groups.consumers(r);
    if (next.size() != 1 || groups[r].writes.size() != 1 || groups.detour(r, *next.begin())) continue;
    const size_t product = *next.begin();
    if (kind_of(graph, groups[product]) != Kind::convolution) continue;
    Region both = groups.merged(product, r);
    both.name = groups[product].name;
    both.technique = groups[product].technique;
    both.offer = groups[product].offer;
    both.choices = groups[product].choices;
    if (!both.technique->accepts(context, both) || !both.technique->accepts_storage(context, plan, both))
      continue;
    groups.merge(product, r, std::move(both));
  }
  plan.regions = groups.in_order();
  return plan;
}

namespace {

// Would delaying `earlier` until `later` keep more bytes alive than its results take? A sum of many products
// keeps all of them alive if it is computed at the end, and two if it is accumulated.
bool extends_lifetimes(const Graph& graph, const Grouping& groups, const std::set<ValueId>& constants,
                       size_t earlier, size_t later) {
  const int32_t from = groups[earlier].nodes.back(), to = groups[later].nodes.back();
  bool between = false;
  for (size_t r = 0; r < groups.size() && !between; ++r)
    between = r != earlier && r != later && groups.alive(r) && groups[r].nodes.back() > from &&
              groups[r].nodes.back() < to;
  if (!between) return false;
  auto bytes = [&](ValueId id) { return graph.type(id).bytes(); };
  int64_t held = 0, saved = 0;
  for (ValueId id : groups[earlier].writes) saved += bytes(id);
  for (ValueId id : groups[earlier].reads)
    if (!constants.contains(id) && groups.is_made(id) && groups.last_reader(id) < to) held += bytes(id);
  return held > saved;
}

}  // namespace

Result<Plan> fuse_within_memory(const Context& context, const Plan& plan,
                                const std::function<Result<Plan>(const MayDelay&)>& fuse) {
  STITCH_TRY(Plan unrestricted, fuse([](const Grouping&, size_t, size_t) { return true; }));
  const int64_t live = live_memory(context, unrestricted).peak;
  if (!context.lean && live <= std::max(memory_allowed(context.graph), live_memory(context, plan).peak))
    return unrestricted;
  const std::set<ValueId> constants = constant_values(context.graph);
  STITCH_TRY(Plan restricted, fuse([&](const Grouping& groups, size_t earlier, size_t later) {
               return !extends_lifetimes(context.graph, groups, constants, earlier, later);
             }));
  return live_memory(context, restricted).peak < live ? restricted : unrestricted;
}

}  // namespace stitch::plan
