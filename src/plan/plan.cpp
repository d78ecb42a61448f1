#include "plan/plan.h"

#include <algorithm>
#include <array>
#include <set>

namespace stitch::plan {

namespace {

bool given(Role role) { return role == Role::input || role == Role::seed; }

// Buffers and parameters that the forward pass renews come in with each run.
std::set<ValueId> renewed(const Graph& graph) {
  std::set<ValueId> out;
  for (const Update& update : graph.updates) out.insert(update.target);
  return out;
}

std::set<ValueId> results_of(const Graph& graph, const Region& region) {
  std::set<ValueId> out;
  for (int32_t n : region.nodes)
    for (ValueId id : graph.node(n).results) out.insert(id);
  return out;
}

}  // namespace

Error at_region(const Region& region, std::string message, std::string fix) {
  return at(format("plan: region '{}'", region.name), user_error("plan", std::move(message), std::move(fix)));
}

std::string_view name(Arithmetic arithmetic) {
  constexpr std::array<std::string_view, 4> names = {"by_class", "exact", "half", "half_exact_bias"};
  return names[static_cast<size_t>(arithmetic)];
}

std::string_view name(Order order) { return order == Order::row_major ? "row_major" : "channels_last"; }

Region Region::at(const Sizes& sizes) const {
  Region out = *this;
  out.variants.clear();
  for (const Variant& each : variants)
    if (const auto size = evaluate_size(each.measure, sizes);
        size && *size >= each.least && *size <= each.most) {
      out.technique = each.technique;
      out.offer = each.offer;
      out.choices = each.choices;
    }
  return out;
}

std::vector<ValueId> reads_and_writes(const Region& region) {
  std::vector<ValueId> out = region.reads;
  out.insert(out.end(), region.writes.begin(), region.writes.end());
  return out;
}

Plan empty_plan(const Graph& graph, Numerics numerics) {
  Plan plan{.numerics = numerics};
  for (const Value& value : graph.values) plan.storage.push_back({value.type.dtype, {}});
  return plan;
}

void complete(const Graph& graph, Region& region) {
  std::ranges::sort(region.nodes);
  std::set<ValueId> inside = results_of(graph, region), states = renewed(graph), seen;
  region.reads.clear();
  region.writes.clear();
  for (int32_t n : region.nodes)
    for (ValueId id : graph.node(n).operands) {
      if (id == ValueId::none || inside.contains(id) || !seen.insert(id).second) continue;
      Role role = graph[id].role;
      if (role == Role::result || given(role) || states.contains(id)) region.reads.push_back(id);
    }
  std::set<ValueId> wanted(graph.outputs.begin(), graph.outputs.end());
  for (const Update& update : graph.updates) wanted.insert(update.value);
  std::set<int32_t> own(region.nodes.begin(), region.nodes.end());
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (!own.contains(static_cast<int32_t>(n)))
      for (ValueId id : graph.nodes[n].operands) wanted.insert(id);
  for (int32_t n : region.nodes)
    for (ValueId id : graph.node(n).results)
      if (wanted.contains(id)) region.writes.push_back(id);
}

std::vector<bool> constant_regions(const Graph& graph, const Plan& plan) {
  std::set<ValueId> constant, wanted(graph.outputs.begin(), graph.outputs.end());
  for (const Update& update : graph.updates) wanted.insert(update.value);
  std::vector<bool> out;
  for (const Region& region : plan.regions) {
    out.push_back(std::ranges::all_of(region.reads, [&](ValueId id) { return constant.contains(id); }) &&
                  std::ranges::none_of(region.writes, [&](ValueId id) { return wanted.contains(id); }));
    if (out.back()) constant.insert(region.writes.begin(), region.writes.end());
  }
  return out;
}

std::vector<Section> sections_of(const Plan& plan) {
  std::vector<Section> out;
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const Region& region = plan.regions[r];
    if (region.section == 0) continue;
    if (r == 0 || plan.regions[r - 1].section != region.section) out.push_back({r, r, 0});
    out.back().end = r + 1;
    out.back().branches = std::max(out.back().branches, region.branch + 1);
  }
  return out;
}

namespace {

// No branch of a section may read what another one writes.
Result<void> check_branches(const Plan& plan) {
  std::set<int> seen;
  for (const Section& section : sections_of(plan)) {
    std::map<ValueId, int> made;
    if (!seen.insert(plan.regions[section.first].section).second)
      return at_region(plan.regions[section.first], "its section stands in two places");
    for (size_t r = section.first; r < section.end; ++r) {
      const Region& region = plan.regions[r];
      if (region.branch < 0) return at_region(region, "its branch is less than none");
      for (ValueId id : region.reads)
        if (auto found = made.find(id); found != made.end() && found->second != region.branch)
          return at_region(region, "reads what a branch beside it writes");
      for (ValueId id : region.writes) made[id] = region.branch;
    }
  }
  return {};
}

}  // namespace

Result<void> check(const Graph& graph, const Plan& plan) {
  if (plan.storage.size() != graph.values.size())
    return user_error("plan", format("storage for {} values, but the graph has {}", plan.storage.size(),
                                     graph.values.size()));
  std::vector<int> covered(graph.nodes.size());
  std::set<ValueId> ready, states = renewed(graph);
  for (size_t v = 0; v < graph.values.size(); ++v)
    if (graph.values[v].role != Role::result) ready.insert(static_cast<ValueId>(v));
  for (const Region& region : plan.regions) {
    if (region.nodes.empty()) return at_region(region, "has no nodes");
    for (int32_t n : region.nodes) {
      if (n < 0 || static_cast<size_t>(n) >= graph.nodes.size())
        return at_region(region, format("node {} is not in the graph", n));
      if (covered[static_cast<size_t>(n)]++)
        return at_region(region, format("'{}' is covered twice", graph[graph.node(n).results[0]].name));
    }
    Region expected = region;
    complete(graph, expected);
    if (expected.reads != region.reads || expected.writes != region.writes)
      return at_region(region, "its reads and writes are not what its nodes need");
    for (ValueId id : region.reads)
      if (!ready.contains(id))
        return at_region(region, format("reads '{}' before anyone has written it", graph[id].name));
    for (ValueId id : region.writes) ready.insert(id);
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (!covered[n])
      return at("plan",
                user_error("plan", format("'{}' is not in any region", graph[graph.nodes[n].results[0]].name),
                           "add it to the nodes of one"));
  for (size_t v = 0; v < plan.storage.size(); ++v) {
    const std::vector<int64_t>& order = plan.storage[v].order;
    if (order.empty()) continue;
    std::vector<int64_t> sorted = order;
    std::ranges::sort(sorted);
    for (size_t d = 0; d < sorted.size(); ++d)
      if (sorted[d] != static_cast<int64_t>(d) || std::ssize(sorted) != graph.values[v].type.rank())
        return user_error(
            "plan", format("the order of '{}' is not a permutation of its dimensions", graph.values[v].name));
    if (graph.values[v].role != Role::result)
      return user_error(
          "plan", format("'{}' is an input or output: its layout can't be changed", graph.values[v].name));
  }
  return check_branches(plan);
}

}  // namespace stitch::plan
