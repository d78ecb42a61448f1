#include "plan/fusion.h"

#include <algorithm>
#include <optional>
#include <set>

#include "plan/layouts.h"
#include "plan/products.h"

namespace stitch::plan {

namespace {

// Regions as they grow together. Empty ones were taken over by others.
class Grouping {
 public:
  Grouping(const Graph& graph, std::vector<Region> regions)
      : graph_(graph), regions_(std::move(regions)), group_of_(graph.nodes.size()), users_(users(graph)) {
    for (size_t r = 0; r < regions_.size(); ++r)
      for (int32_t n : regions_[r].nodes) group_of_[static_cast<size_t>(n)] = r;
  }

  size_t size() const { return regions_.size(); }
  const Region& operator[](size_t r) const { return regions_[r]; }
  bool alive(size_t r) const { return !regions_[r].nodes.empty(); }

  // The groups that read what this one makes.
  std::set<size_t> consumers(size_t r) const {
    std::set<size_t> out;
    for (int32_t n : regions_[r].nodes)
      for (ValueId id : graph_.nodes[static_cast<size_t>(n)].results)
        for (int32_t user : users_[index_of(id)])
          if (group_of_[static_cast<size_t>(user)] != r) out.insert(group_of_[static_cast<size_t>(user)]);
    return out;
  }

  // Leaving `from`, can one come back into `into` through a third group? Then they can't be one region.
  bool detour(size_t from, size_t into) const {
    std::set<size_t> seen;
    std::vector<size_t> open;
    for (size_t next : consumers(from))
      if (next != into) open.push_back(next);
    while (!open.empty()) {
      size_t at = open.back();
      open.pop_back();
      if (at == into) return true;
      if (!seen.insert(at).second) continue;
      for (size_t next : consumers(at)) open.push_back(next);
    }
    return false;
  }

  Region merged(size_t a, size_t b) const {
    Region out{.nodes = regions_[a].nodes};
    out.nodes.insert(out.nodes.end(), regions_[b].nodes.begin(), regions_[b].nodes.end());
    complete(graph_, out);
    out.name = region_name(graph_, out.nodes);
    return out;
  }

  // `a` takes `b` over.
  void merge(size_t a, size_t b, Region region) {
    for (int32_t n : region.nodes) group_of_[static_cast<size_t>(n)] = a;
    regions_[a] = std::move(region);
    regions_[b] = {};
  }

  // In an order that can run.
  std::vector<Region> in_order() {
    std::vector<Region> out;
    std::vector<bool> done(regions_.size());
    std::vector<int32_t> makers = producers(graph_);
    std::function<void(size_t)> visit = [&](size_t r) {
      if (done[r]) return;
      done[r] = true;
      for (ValueId id : regions_[r].reads)
        if (int32_t maker = makers[index_of(id)]; maker >= 0) visit(group_of_[static_cast<size_t>(maker)]);
      out.push_back(std::move(regions_[r]));
    };
    for (size_t n = 0; n < graph_.nodes.size(); ++n) visit(group_of_[n]);
    return out;
  }

 private:
  const Graph& graph_;
  std::vector<Region> regions_;
  std::vector<size_t> group_of_;
  std::vector<std::vector<int32_t>> users_;
};

bool multiplies(const Graph& graph, const Region& region) {
  return std::ranges::any_of(region.nodes, [&](int32_t n) {
    Op op = graph.nodes[static_cast<size_t>(n)].op;
    Family family = info(op).family;
    return family == Family::linear_algebra || family == Family::convolution || family == Family::sequence;
  });
}

// Constants are made where they are used.
bool element_wise(const Graph& graph, const Region& region) {
  return std::ranges::all_of(region.nodes, [&](int32_t n) {
    Op op = graph.nodes[static_cast<size_t>(n)].op;
    return info(op).family == Family::pointwise || info(op).family == Family::view || op == Op::full;
  });
}

// A convolution is a library's, or may become one's, which has no epilogue but ReLU: anything else is one
// more pass over the result. A pool, norm or reduction that comes next reads the result anyway, and does it
// on the way.
bool leaves_epilogue(const Graph& graph, const Grouping& groups, size_t r, size_t follower) {
  if (groups[r].technique != "conv.cudnn" && groups[r].technique != "conv.pointwise") return false;
  const Region& next = groups[follower];
  if (next.nodes.size() == 1 && graph.nodes[static_cast<size_t>(next.nodes[0])].op == Op::relu) return false;
  while (element_wise(graph, groups[follower])) {
    std::set<size_t> consumers = groups.consumers(follower);
    if (consumers.size() != 1) return false;
    follower = *consumers.begin();
  }
  return !multiplies(graph, groups[follower]);
}

// Best first. The last one is always there.
std::vector<std::string_view> candidates(const Graph& graph, const Region& region) {
  const Node& node = graph.nodes[static_cast<size_t>(region.nodes[0])];
  switch (node.op) {
    case Op::linear:
    case Op::matmul:
    case Op::einsum: return {"matmul.vector", "matmul.cublaslt"};
    case Op::conv:
    case Op::conv_transpose: return {"conv.vector", "conv.depthwise", "conv.cudnn"};
    case Op::attention: return {"attention.tensor_core", "attention.flash"};
    case Op::rnn: return {"rnn.persistent", "rnn.cudnn"};
    default: return {};
  }
}

// Few channels fill little of a tensor core's depth as cuDNN uses it, and it falls back to FP32 or worse:
// ours gathers channels and taps together. fp16 in pairs where PyTorch stays in FP32; never in class strict.
bool take_split_half(const Graph& graph, const Plan& plan, const std::set<int32_t>& ten_bits, Region& region,
                     const Techniques& techniques) {
  const Node& node = graph.nodes[static_cast<size_t>(region.nodes[0])];
  if (node.op != Op::conv || plan.numerics == "strict" || ten_bits.contains(region.nodes[0])) return false;
  const Shape& x = graph.type(node.operands[0]).shape;
  if (x[1] >= 16 || node.attributes.integer("groups") != 1) return false;
  // Measured on an H200: where ours has to gather, cuDNN's FP32 kernels are faster for many filters or few
  // taps.
  int64_t filters = graph.type(node.results[0]).shape[1];
  int64_t taps = graph.type(node.operands[1]).elements() / std::max<int64_t>(x[1] * filters, 1);
  if (x.size() == 3 && (filters > 16 || taps < 25)) return false;
  if (!techniques.accepts("conv.split_half", graph, region)) return false;
  region.technique = "conv.split_half";
  return true;
}

// Transposed convolutions of groups, and in FP32 with strides, are cuDNN's worst: 10 to 80 times above the
// bytes on an H200, as are those over few channels in three dimensions in any arithmetic. Where a result
// takes no more products than this, FP32 is done before cuDNN's fp16 has turned its images and turned them
// back.
bool take_phases(const Graph& graph, const std::set<int32_t>& ten_bits, Region& region,
                 const Techniques& techniques) {
  constexpr double few_products = 50;
  const Node& node = graph.nodes[static_cast<size_t>(region.nodes[0])];
  if (node.op != Op::conv_transpose) return false;
  const Shape& x = graph.type(node.operands[0]).shape;
  double products =
      cost(graph, node).matrix_flops / 2 / static_cast<double>(graph.type(node.results[0]).elements());
  bool exact = !ten_bits.contains(region.nodes[0]), few = x[1] < 16 && x.size() == 5;
  bool strided = std::ranges::any_of(node.attributes.integers("stride"), [](int64_t s) { return s > 1; });
  bool grouped = node.attributes.integer("groups") > 1;
  if (!(few || products <= few_products || (exact && (strided || grouped)))) return false;
  if (!techniques.accepts("conv.transposed", graph, region)) return false;
  region.technique = "conv.transposed";
  return true;
}

// Kernels of one pixel are products that need nothing turned, in TF32 where that may be and else at FP32's
// accuracy. Four pixels at a time: elsewhere cuDNN stays. Steps that store values channels last may ask for
// cuDNN again.
bool take_pointwise(const Graph& graph, const Plan& plan, const std::set<int32_t>& ten_bits, Region& region,
                    const Techniques& techniques) {
  const Node& node = graph.nodes[static_cast<size_t>(region.nodes[0])];
  if (node.op != Op::conv) return false;
  if (plan.numerics == "half" && techniques.accepts("conv.cudnn", graph, region)) return false;
  const Shape& x = graph.type(node.operands[0]).shape;
  int64_t pixels = 1, channels = x[1] / node.attributes.integer("groups");
  for (size_t d = 2; d < x.size(); ++d) pixels *= x[d];
  bool exact = !ten_bits.contains(region.nodes[0]);
  // Tensor cores cut sums off towards zero: what deep ones lose shows beside FP32.
  if (pixels < 16 || pixels % 4 != 0 || channels < 4 || (exact && channels > 1024)) return false;
  if (!techniques.accepts("conv.pointwise", graph, region)) return false;
  region.technique = "conv.pointwise";
  if (exact) region.settings["exact"] = 1;
  return true;
}

}  // namespace

Result<Plan> choose_techniques(const Graph& graph, Plan plan, const Techniques& techniques) {
  std::set<int32_t> ten_bits = ten_bit_convolutions(graph, plan);
  for (Region& region : plan.regions) {
    if (take_split_half(graph, plan, ten_bits, region, techniques) ||
        take_phases(graph, ten_bits, region, techniques) ||
        take_pointwise(graph, plan, ten_bits, region, techniques))
      continue;
    for (std::string_view technique : candidates(graph, region))
      if (techniques.accepts(technique, graph, region)) {
        region.technique = technique;
        break;
      }
    if (region.technique == "conv.cudnn" && must_be_exact(graph, plan, region.nodes[0]))
      region.settings["exact"] = 1;
  }
  return take_views(graph, std::move(plan), techniques);
}

Result<Plan> fuse_epilogues(const Graph& graph, Plan plan, const Techniques& techniques) {
  Grouping groups(graph, std::move(plan.regions));
  for (size_t r = 0; r < groups.size(); ++r) {
    if (!groups.alive(r) || !multiplies(graph, groups[r])) continue;
    for (;;) {
      std::set<size_t> next = groups.consumers(r);
      if (next.size() != 1 || groups[r].writes.size() != 1 || groups.detour(r, *next.begin())) break;
      size_t follower = *next.begin();
      if (!element_wise(graph, groups[follower]) || leaves_epilogue(graph, groups, r, follower)) break;
      Region both = groups.merged(r, follower);
      both.technique = groups[r].technique;
      both.settings = groups[r].settings;
      if (both.writes.size() != 1 || !techniques.accepts(both.technique, graph, both)) break;
      groups.merge(r, follower, std::move(both));
    }
  }
  plan.regions = groups.in_order();
  return take_views(graph, std::move(plan), techniques);
}

namespace {

// A kernel of its own for a handful of numbers costs its start and nothing else: counters of batches, say.
bool tiny(const Graph& graph, const Region& region) {
  constexpr int64_t most = 1024;
  auto small = [&](ValueId id) { return graph.type(id).elements() <= most; };
  auto simple = [&](int32_t n) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    Family family = info(node.op).family;
    return family == Family::pointwise || family == Family::view || node.op == Op::full;
  };
  return std::ranges::all_of(region.nodes, simple) && std::ranges::all_of(region.reads, small) &&
         std::ranges::all_of(region.writes, small);
}

// Tiny regions that don't need each other become one.
void gather_tiny(const Graph& graph, Grouping& groups, const Techniques& techniques) {
  std::optional<size_t> gathered;
  for (size_t r = 0; r < groups.size(); ++r) {
    if (!groups.alive(r) || !tiny(graph, groups[r])) continue;
    if (!gathered) {
      gathered = r;
      continue;
    }
    if (groups.detour(r, *gathered) || groups.detour(*gathered, r)) continue;
    Region both = groups.merged(*gathered, r);
    constexpr size_t most_places = 64;  // a kernel takes 4 KB of arguments
    if (both.reads.size() + both.writes.size() > most_places) {
      gathered = r;
      continue;
    }
    auto technique = techniques.plain(graph, both);
    if (!technique || *technique != "loop") continue;
    both.technique = *technique;
    groups.merge(*gathered, r, std::move(both));
  }
}

}  // namespace

Result<Plan> absorb_views(const Graph& graph, Plan plan, const Techniques& techniques) {
  Grouping groups(graph, std::move(plan.regions));
  auto attends = [&](const Region& region) {
    return std::ranges::any_of(
        region.nodes, [&](int32_t n) { return graph.nodes[static_cast<size_t>(n)].op == Op::attention; });
  };
  auto only_views = [&](const Region& region) {
    return std::ranges::all_of(region.nodes, [&](int32_t n) {
      Op op = graph.nodes[static_cast<size_t>(n)].op;
      return op == Op::permute || op == Op::reshape || op == Op::expand || op == Op::slice;
    });
  };
  // From the end: a chain of views is taken over from its last one on.
  for (size_t r = groups.size(); r-- > 0;) {
    if (!groups.alive(r) || !only_views(groups[r])) continue;
    std::set<size_t> next = groups.consumers(r);
    if (next.size() != 1 || groups[r].writes.size() != 1) continue;
    size_t consumer = *next.begin();
    if (!attends(groups[consumer])) continue;
    Region both = groups.merged(r, consumer);
    std::ranges::sort(both.nodes);
    both.technique = groups[consumer].technique;
    both.settings = groups[consumer].settings;
    if (both.technique == "attention.plain" || both.writes != groups[consumer].writes ||
        !techniques.accepts(both.technique, graph, both))
      continue;
    both.name = groups[consumer].name;
    groups.merge(consumer, r, std::move(both));
  }
  plan.regions = groups.in_order();
  return plan;
}

Result<Plan> fuse_loops(const Graph& graph, Plan plan, const Techniques& techniques) {
  Grouping groups(graph, std::move(plan.regions));
  std::vector<double> seconds(groups.size(), -1);
  std::set<std::vector<int32_t>> refused;  // by their nodes
  auto seconds_of = [&](size_t r) {
    if (seconds[r] < 0) seconds[r] = techniques.loop_seconds(graph, groups[r]);
    return seconds[r];
  };
  // From the end, so that a chain grows towards its inputs.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t r = groups.size(); r-- > 0;) {
      if (!groups.alive(r) || multiplies(graph, groups[r])) continue;
      std::set<size_t> next = groups.consumers(r);
      if (next.size() != 1) continue;
      size_t consumer = *next.begin();
      if (multiplies(graph, groups[consumer]) || groups.detour(r, consumer)) continue;
      Region both = groups.merged(r, consumer);
      if (refused.contains(both.nodes)) continue;
      auto technique = techniques.plain(graph, both);
      if (!technique) {
        refused.insert(both.nodes);
        continue;
      }
      both.technique = *technique;
      // A reduction that becomes a stage of another region's may be read more often than before.
      if (techniques.loop_seconds && both.technique != "loop") {
        double after = techniques.loop_seconds(graph, both);
        if (after > seconds_of(r) + seconds_of(consumer)) {
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
  gather_tiny(graph, groups, techniques);
  plan.regions = groups.in_order();
  return plan;
}

}  // namespace stitch::plan
