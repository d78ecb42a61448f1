// Removes nodes whose results reach no output and no update.
#include "passes/pipeline.h"

namespace stitch {

bool remove_dead_code(Graph& graph) {
  std::vector<bool> needed(graph.values.size());
  for (ValueId id : graph.outputs) needed[index_of(id)] = true;
  for (const Update& update : graph.updates) needed[index_of(update.value)] = true;
  std::vector<Node> kept;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    bool used = false;
    for (ValueId id : node.results) used |= needed[index_of(id)];
    if (!used) continue;
    for (ValueId id : node.operands)
      if (id != ValueId::none) needed[index_of(id)] = true;
    kept.push_back(std::move(node));
  }
  bool changed = kept.size() != graph.nodes.size();
  graph.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
  size_t values = graph.values.size();
  graph = compact(graph);
  return changed || graph.values.size() != values;
}

}  // namespace stitch
