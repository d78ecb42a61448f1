#include "plan/plain_plan.h"

#include <algorithm>
#include <set>

#include "plan/regions/fusion.h"

namespace stitch::plan {

namespace {

constexpr size_t longest_name = 40;

const Node& node_at(const Graph& graph, int32_t n) { return graph.node(n); }

// Is the module this op and nothing else: a Linear, a Conv2d, a GRU?
bool owns_weights(const Graph& graph, const Node& node) {
  return std::ranges::any_of(node.operands, [&](ValueId id) {
    return id != ValueId::none && graph[id].has_data() && graph[id].data.starts_with(node.module + ".") &&
           graph[id].data.find('.', node.module.size() + 1) == std::string::npos;
  });
}

// "layer1.0" and add: "layer1.0.add"; "layer1.0.relu" and relu: as it is.
std::string named_after(const Graph& graph, const Node& node) {
  const std::string op(info(node.op).name);
  if (node.module.empty()) return graph[node.results[0]].name;
  const std::string last = node.module.substr(node.module.rfind('.') + 1);
  if (owns_weights(graph, node) || last.find(op) != std::string::npos) return node.module;
  return node.module + "." + op;
}

// Outer modules are left out of a name that is too long.
std::string shortened(std::string name) {
  for (size_t dot; name.size() > longest_name && (dot = name.find('.')) != std::string::npos;)
    name.erase(0, dot + 1);
  return name.substr(0, longest_name);
}

}  // namespace

std::string region_name(const Graph& graph, const std::vector<int32_t>& nodes) {
  // The heaviest node names it; a fused tail adds the last op that computes something.
  const Node* heaviest = &node_at(graph, nodes.front());
  const Node* tail = nullptr;
  double most = -1;
  for (int32_t n : nodes) {
    const Node& node = node_at(graph, n);
    if (double flops = cost(graph, node).flops; flops > most) {
      most = flops, heaviest = &node, tail = nullptr;
    } else if (auto family = info(node.op).family; family == Family::pointwise || family == Family::reduce) {
      tail = &node;
    }
  }
  std::string out = named_after(graph, *heaviest);
  if (tail)
    if (const std::string op(info(tail->op).name); !out.ends_with(op)) out += "." + op;
  out = shortened(std::move(out));
  std::ranges::replace(out, '.', '_');
  return out;
}

void tell_names_apart(std::vector<Region>& regions) {
  std::set<std::string> taken;
  for (Region& region : regions) {
    const std::string base = region.name;
    for (int suffix = 2; !taken.insert(region.name).second; ++suffix)
      region.name = format("{}_{}", base, suffix);
  }
}

Result<Plan> plain_plan(const Context& context, const Catalogue& catalogue) {
  const Graph& graph = context.graph;
  Plan plan = empty_plan(graph, context.numerics);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Region region{.nodes = {static_cast<int32_t>(n)}};
    region.name = region_name(graph, region.nodes);
    complete(graph, region);
    STITCH_TRY(region.technique, catalogue.plain(context, region));
    plan.regions.push_back(std::move(region));
  }
  tell_names_apart(plan.regions);
  return fuse_constants(context, std::move(plan), catalogue);
}

}  // namespace stitch::plan
