// Merges nodes with the same op, operands and attributes. Random ops differ by their stream.
#include <map>

#include "graph/text.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

std::string signature(const Node& node) {
  std::string key(info(node.op).name);
  for (ValueId id : node.operands) key += format(" {}", static_cast<int32_t>(id));
  for (const auto& [name, value] : node.attributes) key += format(" {}={}", name, text(value));
  return key;
}

}  // namespace

bool share_common_subexpressions(Graph& graph) {
  std::vector<ValueId> replacement(graph.values.size());
  for (size_t i = 0; i < replacement.size(); ++i) replacement[i] = static_cast<ValueId>(i);
  std::map<std::string, size_t> first;
  std::vector<Node> kept;
  for (Node& node : graph.nodes) {
    for (ValueId& id : node.operands)
      if (id != ValueId::none) id = replacement[index_of(id)];
    auto [found, fresh] = first.try_emplace(signature(node), kept.size());
    if (fresh) {
      kept.push_back(std::move(node));
      continue;
    }
    const Node& same = kept[found->second];
    for (size_t i = 0; i < node.results.size(); ++i) replacement[index_of(node.results[i])] = same.results[i];
  }
  bool changed = kept.size() != graph.nodes.size();
  graph.nodes = std::move(kept);
  replace_uses(graph, replacement);
  if (changed) graph = compact(graph);
  return changed;
}

}  // namespace stitch
