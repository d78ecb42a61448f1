// slice(permute(x)) becomes permute(slice(x)): q, k and v sliced from one permuted tensor become separate
// chains of views of the linear's result, without a permuted copy of all three.
#include "passes/pipeline.h"

namespace stitch {

bool move_slices_first(Graph& graph) {
  std::vector<int32_t> makers = producers(graph);
  bool changed = false;
  size_t count = graph.nodes.size();
  for (size_t i = 0; i < count; ++i) {
    if (graph.nodes[i].op != Op::slice) continue;
    const Node slice = graph.nodes[i];
    int32_t maker = makers[index_of(slice.operands[0])];
    if (maker < 0 || graph.node(maker).op != Op::permute) continue;
    const Node permute = graph.node(maker);
    Attributes attributes = slice.attributes;
    attributes.set("dim",
                   permute.attributes.integers("dims")[static_cast<size_t>(slice.attributes.integer("dim"))]);
    auto cut = graph.add_node(Op::slice, permute.operands, attributes, graph[slice.results[0]].name + ".cut",
                              slice.where, slice.module);
    if (!cut) throw Bug("moving slices first: " + cut.error().text());
    makers.resize(graph.values.size(), -1);
    Node& node = graph.nodes[i];
    node.op = Op::permute;
    node.operands = {(*cut)[0]};
    node.attributes = permute.attributes;
    changed = true;
  }
  if (!changed) return false;
  sort_nodes(graph);
  canonicalize_views(graph);
  return true;
}

}  // namespace stitch
