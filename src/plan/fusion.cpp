#include "plan/fusion.h"

#include <algorithm>
#include <set>

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

bool element_wise(const Graph& graph, const Region& region) {
  return std::ranges::all_of(region.nodes, [&](int32_t n) {
    Family family = info(graph.nodes[static_cast<size_t>(n)].op).family;
    return family == Family::pointwise || family == Family::view;
  });
}

// Best first. The last one is always there.
std::vector<std::string_view> candidates(const Graph& graph, const Region& region) {
  const Node& node = graph.nodes[static_cast<size_t>(region.nodes[0])];
  switch (node.op) {
    case Op::linear:
    case Op::matmul:
    case Op::einsum: return {"matmul.cublaslt"};
    case Op::conv:
    case Op::conv_transpose: return {"conv.depthwise", "conv.cudnn"};
    case Op::attention: return {"attention.flash"};
    case Op::rnn: return {"rnn.persistent", "rnn.cudnn"};
    default: return {};
  }
}

}  // namespace

Result<Plan> choose_techniques(const Graph& graph, Plan plan, const Techniques& techniques) {
  for (Region& region : plan.regions)
    for (std::string_view technique : candidates(graph, region))
      if (techniques.accepts(technique, graph, region)) {
        region.technique = technique;
        break;
      }
  return plan;
}

Result<Plan> fuse_epilogues(const Graph& graph, Plan plan, const Techniques& techniques) {
  Grouping groups(graph, std::move(plan.regions));
  for (size_t r = 0; r < groups.size(); ++r) {
    if (!groups.alive(r) || !multiplies(graph, groups[r])) continue;
    for (;;) {
      std::set<size_t> next = groups.consumers(r);
      if (next.size() != 1 || groups[r].writes.size() != 1 || groups.detour(r, *next.begin())) break;
      size_t follower = *next.begin();
      if (!element_wise(graph, groups[follower])) break;
      Region both = groups.merged(r, follower);
      both.technique = groups[r].technique;
      both.settings = groups[r].settings;
      if (both.writes.size() != 1 || !techniques.accepts(both.technique, graph, both)) break;
      groups.merge(r, follower, std::move(both));
    }
  }
  plan.regions = groups.in_order();
  return plan;
}

Result<Plan> fuse_loops(const Graph& graph, Plan plan, const Techniques& techniques) {
  Grouping groups(graph, std::move(plan.regions));
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
      auto technique = techniques.plain(graph, both);
      if (!technique) continue;
      both.technique = *technique;
      groups.merge(consumer, r, std::move(both));
      changed = true;
    }
  }
  plan.regions = groups.in_order();
  return plan;
}

}  // namespace stitch::plan
