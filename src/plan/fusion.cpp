#include "plan/fusion.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <set>

#include "plan/channels.h"
#include "plan/constants.h"
#include "plan/estimate.h"
#include "plan/grouping.h"
#include "plan/layouts.h"
#include "plan/live_memory.h"
#include "plan/views.h"

namespace stitch::plan {

namespace {

bool has_product(const Graph& graph, const Region& region) { return kind_of(graph, region) != Kind::loop; }

// Constants are made where they are used.
bool element_wise(const Graph& graph, const Region& region) {
  return std::ranges::all_of(region.nodes, [&](int32_t n) {
    Op op = graph.nodes[static_cast<size_t>(n)].op;
    return info(op).family == Family::pointwise || info(op).family == Family::view || op == Op::full;
  });
}

// Techniques may have room for one behind the last element-wise node.
bool is_pool(const Graph& graph, const Region& region) {
  return region.nodes.size() == 1 &&
         info(graph.nodes[static_cast<size_t>(region.nodes[0])].op).family == Family::pool;
}

// Where an epilogue is one more pass over the result, a pool, norm or reduction that comes next reads the
// result anyway, and does it on the way.
bool leaves_epilogue(const Graph& graph, const Grouping& groups, size_t r, size_t follower) {
  if (groups[r].technique->has_free_epilogue()) return false;
  const Region& next = groups[follower];
  // 16-bit convolutions compute in NHWC, and write what is transposed to that as it is.
  const bool only_views = std::ranges::all_of(next.nodes, [&](int32_t n) {
    return info(graph.nodes[static_cast<size_t>(n)].op).family == Family::view;
  });
  if (only_views && size_of(graph.type(groups[r].writes[0]).dtype) == 2 &&
      is_wanted_channels_last(graph, groups[r].writes[0]))
    return false;
  if (next.nodes.size() == 1 && graph.nodes[static_cast<size_t>(next.nodes[0])].op == Op::relu) return false;
  while (element_wise(graph, groups[follower])) {
    std::set<size_t> consumers = groups.consumers(follower);
    if (consumers.size() != 1) return false;
    follower = *consumers.begin();
  }
  return !has_product(graph, groups[follower]);
}

}  // namespace

namespace {

// Who computes a convolution and the pool behind it as well as the one that computes it alone; null: nobody.
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

// Convolutions whose results go into a concat and nowhere else: where a technique writes all of them.
void fuse_concats(const Context& context, Grouping& groups, const Catalogue& catalogue) {
  if (context.torch.as_pytorch) return;  // each of them rounds as PyTorch's own does
  const Graph& graph = context.graph;
  for (size_t r = 0; r < groups.size(); ++r) {
    if (groups[r].nodes.size() != 1 || graph.nodes[static_cast<size_t>(groups[r].nodes[0])].op != Op::concat)
      continue;
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

}  // namespace

namespace {

// Does `earlier`, if it waits for `later`, hold more than the result that it needn't have until then? A sum
// of many products holds all of them where it is made at its end, and two where it grows with each.
bool hoards(const Graph& graph, const Grouping& groups, const std::set<ValueId>& constants, size_t earlier,
            size_t later) {
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

// How a fusion goes on with a group and the one behind it: as it likes, or only where no memory is hoarded.
using Waits = std::function<bool(const Grouping& groups, size_t earlier, size_t later)>;

// Without regard for memory, unless that holds more than the model run node by node.
Result<Plan> with_thrift(const Context& context, const Plan& plan,
                         const std::function<Result<Plan>(const Waits&)>& fuse) {
  STITCH_TRY(Plan lavish, fuse([](const Grouping&, size_t, size_t) { return true; }));
  const int64_t live = live_memory(context, lavish).peak;
  if (live <= std::max(memory_allowed(context.graph), live_memory(context, plan).peak)) return lavish;
  const std::set<ValueId> constants = constant_values(context.graph);
  STITCH_TRY(Plan thrifty, fuse([&](const Grouping& groups, size_t earlier, size_t later) {
               return !hoards(context.graph, groups, constants, earlier, later);
             }));
  return live_memory(context, thrifty).peak < live ? thrifty : lavish;
}

Result<Plan> fuse_epilogues_where(const Context& context, Plan plan, const Catalogue& catalogue,
                                  const Waits& may_wait) {
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
      if (!may_wait(groups, r, follower)) break;
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
  return with_thrift(context, plan, [&](const Waits& may_wait) {
    return fuse_epilogues_where(context, plan, catalogue, may_wait);
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

// A batch norm by given statistics is element by element, too.
bool element_wise_or_fixed_norm(const Graph& graph, const Region& region) {
  return std::ranges::all_of(region.nodes, [&](int32_t n) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    return (node.op == Op::batch_norm && !node.attributes.flag("training")) ||
           element_wise(graph, {.nodes = {n}});
  });
}

// A kernel of its own for a handful of numbers costs its start and nothing else: counters of batches, say.
bool tiny(const Graph& graph, const Region& region) {
  constexpr int64_t most = 1024;
  auto small = [&](ValueId id) { return graph.type(id).elements() <= most; };
  return element_wise_or_fixed_norm(graph, region) && std::ranges::all_of(region.reads, small) &&
         std::ranges::all_of(region.writes, small);
}

// What is made of weights and runs once, when a program is created, stays apart from what runs with every
// pass.
bool makes_constants(const Graph& graph, const std::set<ValueId>& constants, const Region& region) {
  auto reads_weight = [&](int32_t n) {
    return std::ranges::any_of(graph.nodes[static_cast<size_t>(n)].operands,
                               [&](ValueId id) { return id != ValueId::none && graph[id].has_data(); });
  };
  return std::ranges::all_of(region.writes, [&](ValueId id) { return constants.contains(id); }) &&
         (!region.reads.empty() || std::ranges::any_of(region.nodes, reads_weight));
}

// What its kernel is handed: weights are among what it reads.
size_t places(const Graph& graph, const Region& region) {
  std::set<ValueId> read(region.reads.begin(), region.reads.end());
  for (int32_t n : region.nodes)
    for (ValueId id : graph.nodes[static_cast<size_t>(n)].operands)
      if (id != ValueId::none && graph[id].has_data()) read.insert(id);
  return read.size() + region.writes.size();
}

// Tiny regions that don't need each other become one.
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

// By the memory that its kernels move, and their starts.
double loop_seconds(const Context& context, const Region& region) {
  const auto traffic = region.technique->traffic(context, region);
  return traffic ? seconds_of(context.gpu, *traffic) : std::numeric_limits<double>::infinity();
}

bool looks_at_rows(const Graph& graph, const Region& region) {
  return std::ranges::any_of(region.nodes, [&](int32_t n) {
    const Family family = info(graph.nodes[static_cast<size_t>(n)].op).family;
    return family == Family::reduce || family == Family::normalize;
  });
}

// Whether a sum would compute what it weighs with anew for every result: weights that are made of whole rows
// (softmax over a window), each of which many results beside each other multiply with other values.
bool computes_again(const Graph& graph, const Region& producer, const Region& consumer) {
  constexpr int64_t often = 8;
  if (!looks_at_rows(graph, producer)) return false;
  std::map<ValueId, const Node*> makers;
  for (int32_t n : consumer.nodes)
    for (ValueId id : graph.nodes[static_cast<size_t>(n)].results)
      makers[id] = &graph.nodes[static_cast<size_t>(n)];
  auto is_weight = [&](ValueId value) {  // through views
    for (auto at = makers.find(value); at != makers.end() && info(at->second->op).family == Family::view;
         at = makers.find(value))
      value = at->second->operands[0];
    return std::ranges::find(producer.writes, value) != producer.writes.end();
  };
  for (int32_t n : consumer.nodes) {
    const Node& sum = graph.nodes[static_cast<size_t>(n)];
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

// How often nodes are written down if each is where it is read. Parts of a concat stand in branches of their
// own, which share nothing; so do what a slice holds and what lies around it; and what is read through two
// slices is computed at two places. Steps of a recurrence whose results are stacked are in as many branches
// as there are steps behind them; rows that are written one after the other, each made of those before (the
// delta rule's triangular inverse), in twice as many a row; a stencil's steps in four times as many a step.
// Reductions are made once, so what is read through slices counts only where there is none.
bool repeats_in_branches(const Graph& graph, const Region& region, bool elementwise) {
  constexpr size_t few_parts = 8;
  const size_t least = elementwise ? 1024 : 256, often = elementwise ? 16 : 4;
  auto branches_out = [&](int32_t n) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
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
  std::map<ValueId, std::set<size_t>> branches;  // in which a value is read
  std::vector<size_t> times = {1};               // of each branch; the first is outside of all
  size_t written = 0;
  for (int32_t n : region.nodes | std::views::reverse) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
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

// A chain that grows node by node is drafted as often as it has nodes: a thousand unrolled steps would take
// an hour. A long one waits for pieces of its own size instead, until none grows any more.
bool waits(const Region& small, const Region& large) {
  constexpr size_t long_chain = 64;
  return large.nodes.size() > long_chain && 4 * small.nodes.size() < large.nodes.size();
}

// A norm's result that is added to a residual stream, which the next norm reads right away and others read
// later: one kernel holds the row for both norms, and writes the stream beside its own result. Without this a
// row is written and read once more, and a kernel started for it.
void share_rows(const Context& context, Grouping& groups, const Catalogue& catalogue, const Waits& may_wait) {
  const Graph& graph = context.graph;
  auto rows = [&](size_t r) {
    return groups.alive(r) && !has_product(graph, groups[r]) && looks_at_rows(graph, groups[r]);
  };
  for (size_t r = groups.size(); r-- > 0;) {
    if (!rows(r)) continue;
    for (size_t next : groups.consumers(r)) {
      if (!rows(next) || groups.detour(r, next) || !may_wait(groups, r, next) ||
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

// Past this nvcc takes minutes, and what one kernel saves in starts is small beside what it computes.
constexpr size_t most_fused_nodes = 384;

Result<Plan> fuse_loops_where(const Context& context, Plan plan, const Catalogue& catalogue,
                              const Waits& may_wait) {
  const Graph& graph = context.graph;
  Grouping groups(graph, std::move(plan.regions));
  std::vector<double> seconds(groups.size(), -1);
  std::set<std::vector<int32_t>> refused;  // by their nodes
  auto seconds_now = [&](size_t r) {
    if (seconds[r] < 0) seconds[r] = loop_seconds(context, groups[r]);
    return seconds[r];
  };
  // From the end, so that a chain grows towards its inputs.
  for (bool changed = true, patient = true; changed || patient;) {
    if (!changed) patient = false;
    changed = false;
    for (size_t r = groups.size(); r-- > 0;) {
      if (!groups.alive(r) || has_product(graph, groups[r])) continue;
      std::set<size_t> next = groups.consumers(r);
      if (next.size() != 1) continue;
      size_t consumer = *next.begin();
      if (has_product(graph, groups[consumer]) || groups.detour(r, consumer)) continue;
      if (groups[r].nodes.size() + groups[consumer].nodes.size() > most_fused_nodes) continue;
      if (patient && waits(groups[r], groups[consumer])) continue;
      if (computes_again(graph, groups[r], groups[consumer]) || !may_wait(groups, r, consumer)) continue;
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
      // A reduction that becomes a stage of another region's may be read more often than before.
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
  share_rows(context, groups, catalogue, may_wait);
  const std::set<ValueId> constants = constant_values(graph);
  for (bool constant : {true, false}) gather_tiny(context, groups, catalogue, constants, constant);
  plan.regions = groups.in_order();
  return plan;
}

}  // namespace

Result<Plan> fuse_loops(const Context& context, Plan plan, const Catalogue& catalogue) {
  return with_thrift(context, plan, [&](const Waits& may_wait) {
    return fuse_loops_where(context, plan, catalogue, may_wait);
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
    // In float64, as what is folded into weights is.
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
