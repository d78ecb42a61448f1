// Fusion of element-wise nodes and reductions into loops.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <set>

#include "plan/constants.h"
#include "plan/cost/estimate.h"
#include "plan/regions/fusion.h"
#include "plan/regions/grouping.h"

namespace stitch::plan {

namespace {

// A batch norm with given statistics is element-wise too.
bool element_wise_or_fixed_norm(const Graph& graph, const Region& region) {
  return std::ranges::all_of(region.nodes, [&](int32_t n) {
    const Node& node = graph.node(n);
    return (node.op == Op::batch_norm && !node.attributes.flag("training")) ||
           element_wise(graph, {.nodes = {n}});
  });
}

// A kernel for a handful of numbers, such as batch counters, costs only its launch.
bool tiny(const Graph& graph, const Region& region) {
  constexpr int64_t most = 1024;
  auto small = [&](ValueId id) { return graph.type(id).elements() <= most; };
  return element_wise_or_fixed_norm(graph, region) && std::ranges::all_of(region.reads, small) &&
         std::ranges::all_of(region.writes, small);
}

// Regions that run once, when a program is created, must stay apart from those that run in every pass.
bool makes_constants(const Graph& graph, const std::set<ValueId>& constants, const Region& region) {
  auto reads_weight = [&](int32_t n) {
    return std::ranges::any_of(graph.node(n).operands,
                               [&](ValueId id) { return id != ValueId::none && graph[id].has_data(); });
  };
  return std::ranges::all_of(region.writes, [&](ValueId id) { return constants.contains(id); }) &&
         (!region.reads.empty() || std::ranges::any_of(region.nodes, reads_weight));
}

// The number of pointers its kernel takes, weights included.
size_t places(const Graph& graph, const Region& region) {
  std::set<ValueId> read(region.reads.begin(), region.reads.end());
  for (int32_t n : region.nodes)
    for (ValueId id : graph.node(n).operands)
      if (id != ValueId::none && graph[id].has_data()) read.insert(id);
  return read.size() + region.writes.size();
}

// Independent tiny regions are fused into one.
void gather_tiny(const Context& context, Grouping& groups, const Catalogue& catalogue,
                 const std::set<ValueId>& constants, bool constant) {
  std::optional<size_t> gathered;
  for (size_t r = 0; r < groups.size(); ++r) {
    if (!groups.alive(r) || !tiny(context.graph, groups[r]) ||
        makes_constants(context.graph, constants, groups[r]) != constant)
      continue;
    if (!gathered) {
      gathered = r;
      continue;
    }
    if (groups.detour(r, *gathered) || groups.detour(*gathered, r)) continue;
    Region both = groups.merged(*gathered, r);
    constexpr size_t most_places = 64;  // a kernel takes 4 KB of arguments
    if (places(context.graph, both) > most_places) {
      gathered = r;
      continue;
    }
    auto technique = catalogue.plain(context, both);
    if (!technique || !(*technique)->is_elementwise()) continue;
    both.technique = *technique;
    groups.merge(*gathered, r, std::move(both));
  }
}

// What may become part of a larger loop: no product, nor a library call or user-written source.
bool is_loop(const Graph& graph, const Region& region) {
  return !has_product(graph, region) && region.technique->entry() == Entry::plain;
}

// From its kernels' memory traffic and launches.
double loop_seconds(const Context& context, const Region& region) {
  const auto traffic = region.technique->traffic(context, region);
  return traffic ? seconds_of(context.gpu, *traffic) : std::numeric_limits<double>::infinity();
}

bool looks_at_rows(const Graph& graph, const Region& region) {
  return std::ranges::any_of(region.nodes, [&](int32_t n) {
    const Family family = info(graph.node(n).op).family;
    return family == Family::reduce || family == Family::normalize;
  });
}

// Would fusing make a weighted sum recompute its weights for every result? True for weights that need whole
// rows (a softmax over a window) and are reused by many neighbouring results.
bool computes_again(const Graph& graph, const Region& producer, const Region& consumer) {
  constexpr int64_t often = 8;
  if (!looks_at_rows(graph, producer)) return false;
  std::map<ValueId, const Node*> makers;
  for (int32_t n : consumer.nodes)
    for (ValueId id : graph.node(n).results) makers[id] = &graph.node(n);
  auto is_weight = [&](ValueId value) {  // through views
    for (auto at = makers.find(value); at != makers.end() && info(at->second->op).family == Family::view;
         at = makers.find(value))
      value = at->second->operands[0];
    return std::ranges::find(producer.writes, value) != producer.writes.end();
  };
  for (int32_t n : consumer.nodes) {
    const Node& sum = graph.node(n);
    if (info(sum.op).family != Family::reduce || !makers.contains(sum.operands[0])) continue;
    const Node& terms = *makers[sum.operands[0]];
    if (info(terms.op).family != Family::pointwise) continue;
    const Shape& shape = graph.type(terms.results[0]).shape;
    for (ValueId operand : terms.operands) {
      if (operand == ValueId::none || !is_weight(operand)) continue;
      Shape own = graph.type(operand).shape;
      if (auto maker = makers.find(operand); maker != makers.end() && maker->second->op == Op::expand)
        own = graph.type(maker->second->operands[0]).shape;
      if (own.size() != shape.size()) continue;
      bool varies = false, repeated = false;
      for (size_t d = 0; d < shape.size(); ++d) {
        const bool summed = std::ranges::find(sum.attributes.integers("dims"), static_cast<int64_t>(d)) !=
                            sum.attributes.integers("dims").end();
        varies |= summed && own[d] > 1;
        repeated |= !summed && own[d] == 1 && shape[d] >= often;
      }
      if (varies && repeated) return true;
    }
  }
  return false;
}

// Would inlining duplicate too much code? Operands of a concat are emitted in separate branches that share
// nothing; so are the two sides of a slice update; and a value read through two slices is computed twice.
// Stacked steps of a recurrence appear in as many branches as there are later steps; rows that depend on all
// rows before (the delta rule's triangular inverse) double per row; a stencil's steps quadruple per step.
// Reductions are computed once, so reads through slices count only where there is none.
bool repeats_in_branches(const Graph& graph, const Region& region, bool elementwise) {
  constexpr size_t few_parts = 8;
  const size_t least = elementwise ? 1024 : 256, often = elementwise ? 16 : 4;
  auto branches_out = [&](int32_t n) {
    const Node& node = graph.node(n);
    switch (node.op) {
      case Op::concat: return node.operands.size() >= few_parts;
      case Op::update_slice: return true;
      case Op::slice:
      case Op::strided_view:
      case Op::flip:
      case Op::roll:
      case Op::pad:
      case Op::gather:
      case Op::index: return elementwise;
      default: return false;
    }
  };
  if (std::ranges::count_if(region.nodes, branches_out) == 0) return false;
  std::map<ValueId, std::set<size_t>> branches;  // branches that read a value
  std::vector<size_t> times = {1};               // copies of each branch; the first is outside of all
  size_t written = 0;
  for (int32_t n : region.nodes | std::views::reverse) {
    const Node& node = graph.node(n);
    std::set<size_t> in;
    for (ValueId result : node.results)
      if (auto read = branches.find(result); read != branches.end()) in.merge(read->second);
    const Family family = info(node.op).family;
    if (in.empty() || family == Family::reduce || family == Family::normalize) in = {0};  // made once
    size_t here = 0;
    for (size_t branch : in) here += times[branch];
    written += here;
    if (written > often * region.nodes.size() + least) return true;
    for (ValueId operand : node.operands) {
      if (operand == ValueId::none) continue;
      if (branches_out(n)) {
        branches[operand].insert(times.size());
        times.push_back(here);
      } else {
        branches[operand].insert(in.begin(), in.end());
      }
    }
  }
  return false;
}

// Growing a chain node by node drafts it once per node: a thousand unrolled steps would take an hour. A long
// chain only merges with pieces of similar size, until no merge is left.
bool waits(const Region& small, const Region& large) {
  constexpr size_t long_chain = 64;
  return large.nodes.size() > long_chain && 4 * small.nodes.size() < large.nodes.size();
}

// A norm's result is added to a residual stream that the next norm reads at once and others read later: one
// kernel keeps the row for both norms and writes the stream as a second result. This saves one write and read
// of the row, and a launch.
void share_rows(const Context& context, Grouping& groups, const Catalogue& catalogue,
                const MayDelay& may_delay) {
  const Graph& graph = context.graph;
  auto rows = [&](size_t r) {
    return groups.alive(r) && is_loop(graph, groups[r]) && looks_at_rows(graph, groups[r]);
  };
  for (size_t r = groups.size(); r-- > 0;) {
    if (!rows(r)) continue;
    for (size_t next : groups.consumers(r)) {
      if (!rows(next) || groups.detour(r, next) || !may_delay(groups, r, next) ||
          computes_again(graph, groups[r], groups[next]))
        continue;
      Region both = groups.merged(r, next);
      auto technique = catalogue.plain(context, both);
      if (!technique || (*technique)->is_elementwise()) continue;
      both.technique = *technique;
      if (loop_seconds(context, both) >=
          loop_seconds(context, groups[r]) + loop_seconds(context, groups[next]))
        continue;
      groups.merge(next, r, std::move(both));
      break;
    }
  }
}

// Beyond this nvcc takes minutes, and the launches saved are small compared with the work.
constexpr size_t most_fused_nodes = 384;

Result<Plan> fuse_loops_where(const Context& context, Plan plan, const Catalogue& catalogue,
                              const MayDelay& may_delay) {
  const Graph& graph = context.graph;
  Grouping groups(graph, std::move(plan.regions));
  std::vector<double> seconds(groups.size(), -1);
  std::set<std::vector<int32_t>> refused;  // by their nodes
  auto seconds_now = [&](size_t r) {
    if (seconds[r] < 0) seconds[r] = loop_seconds(context, groups[r]);
    return seconds[r];
  };
  // Backwards, so that a chain grows towards its inputs.
  for (bool changed = true, patient = true; changed || patient;) {
    if (!changed) patient = false;
    changed = false;
    for (size_t r = groups.size(); r-- > 0;) {
      if (!groups.alive(r) || !is_loop(graph, groups[r])) continue;
      std::set<size_t> next = groups.consumers(r);
      if (next.size() != 1) continue;
      size_t consumer = *next.begin();
      if (!is_loop(graph, groups[consumer]) || groups.detour(r, consumer)) continue;
      if (groups[r].nodes.size() + groups[consumer].nodes.size() > most_fused_nodes) continue;
      if (patient && waits(groups[r], groups[consumer])) continue;
      if (computes_again(graph, groups[r], groups[consumer]) || !may_delay(groups, r, consumer)) continue;
      Region both = groups.merged(r, consumer);
      if (refused.contains(both.nodes)) continue;
      if (repeats_in_branches(graph, both, false)) {
        refused.insert(both.nodes);
        continue;
      }
      auto technique = catalogue.plain(context, both);
      if (!technique || ((*technique)->is_elementwise() && repeats_in_branches(graph, both, true))) {
        refused.insert(both.nodes);
        continue;
      }
      both.technique = *technique;
      // A reduction that becomes a stage of another region may be read more often than before.
      if (!both.technique->is_elementwise()) {
        double after = loop_seconds(context, both);
        if (after > seconds_now(r) + seconds_now(consumer)) {
          refused.insert(both.nodes);
          continue;
        }
        seconds[consumer] = after;
      } else {
        seconds[consumer] = -1;
      }
      groups.merge(consumer, r, std::move(both));
      changed = true;
    }
  }
  share_rows(context, groups, catalogue, may_delay);
  const std::set<ValueId> constants = constant_values(graph);
  for (bool constant : {true, false}) gather_tiny(context, groups, catalogue, constants, constant);
  plan.regions = groups.in_order();
  return plan;
}

}  // namespace

Result<Plan> fuse_loops(const Context& context, Plan plan, const Catalogue& catalogue) {
  return fuse_within_memory(context, plan, [&](const MayDelay& may_delay) {
    return fuse_loops_where(context, plan, catalogue, may_delay);
  });
}

Result<Plan> fuse_constants(const Context& context, Plan plan, const Catalogue& catalogue) {
  const Graph& graph = context.graph;
  const std::set<ValueId> constants = constant_values(graph);
  Grouping groups(graph, std::move(plan.regions));
  for (size_t r = groups.size(); r-- > 0;) {
    if (!element_wise_or_fixed_norm(graph, groups[r])) continue;
    std::set<size_t> next = groups.consumers(r);
    if (next.size() != 1 || groups.detour(r, *next.begin())) continue;
    const size_t consumer = *next.begin();
    const bool constant =
        std::ranges::all_of(groups[consumer].writes, [&](ValueId id) { return constants.contains(id); });
    // Only float64 chains: those that passes folded into weights.
    if (!constant || graph.type(groups[r].writes[0]).dtype != DType::f64) continue;
    Region both = groups.merged(r, consumer);
    auto technique = catalogue.plain(context, both);
    if (!technique || !(*technique)->is_elementwise()) continue;
    both.technique = *technique;
    groups.merge(consumer, r, std::move(both));
  }
  plan.regions = groups.in_order();
  return plan;
}

}  // namespace stitch::plan
