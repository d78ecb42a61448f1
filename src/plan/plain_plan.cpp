#include "plan/plain_plan.h"

namespace stitch::plan {

std::string region_name(const Graph& graph, const std::vector<int32_t>& nodes) {
  // The heaviest node names it; a fused tail adds its last op.
  const Node* first = &graph.nodes[static_cast<size_t>(nodes.front())];
  double most = -1;
  for (int32_t n : nodes) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    if (double flops = cost(graph, node).flops; flops > most) most = flops, first = &node;
  }
  const Node& last = graph.nodes[static_cast<size_t>(nodes.back())];
  std::string out = graph[first->results[0]].name;
  if (nodes.size() > 1 && &last != first) out += "_" + std::string(info(last.op).name);
  return out;
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
  return plan;
}

}  // namespace stitch::plan
