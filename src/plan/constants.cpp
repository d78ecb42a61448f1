#include "plan/constants.h"

#include <algorithm>

namespace stitch::plan {

namespace {

bool is_kept(const Graph& graph, ValueId id) {
  return graph[id].has_data() && std::ranges::find(graph.updates, id, &Update::target) == graph.updates.end();
}

}  // namespace

std::set<ValueId> constant_values(const Graph& graph) {
  std::set<ValueId> out;
  for (size_t v = 0; v < graph.values.size(); ++v)
    if (is_kept(graph, static_cast<ValueId>(v))) out.insert(static_cast<ValueId>(v));
  for (const Node& node : graph.nodes)
    if (std::ranges::all_of(node.operands,
                            [&](ValueId id) { return id == ValueId::none || out.contains(id); }))
      out.insert(node.results.begin(), node.results.end());
  return out;
}

bool is_constant(const Graph& graph, ValueId value) {
  if (value == ValueId::none || graph[value].role != Role::result)
    return value == ValueId::none || is_kept(graph, value);
  for (const Node& node : graph.nodes)
    if (std::ranges::find(node.results, value) != node.results.end())
      return std::ranges::all_of(node.operands, [&](ValueId id) { return is_constant(graph, id); });
  return false;
}

}  // namespace stitch::plan
