#include "passes/build.h"

#include "passes/pipeline.h"

namespace stitch {

ValueId Builder::add(Op op, std::vector<ValueId> operands, const Attributes& attributes,
                     std::string_view name) {
  auto results = graph_.add_node(op, std::move(operands), attributes, name, model_.where, model_.module);
  if (!results) throw Bug("a pass built a wrong node: " + results.error().text());
  return results->front();
}

ValueId Builder::slice(ValueId of, int64_t dim, int64_t start, int64_t end, std::string_view name) {
  if (start == 0 && end == graph_.type(of).shape[static_cast<size_t>(dim)]) return of;
  return add(Op::slice, {of}, {{"dim", dim}, {"start", start}, {"end", end}}, name);
}

namespace {

// Makers before users, otherwise as they were. Loops that Python unrolled are thousands of nodes deep, so no
// recursion.
void sort_nodes(Graph& graph) {
  std::vector<int32_t> made_by = producers(graph);
  std::vector<bool> placed(graph.nodes.size());
  std::vector<Node> sorted;
  for (size_t first = 0; first < graph.nodes.size(); ++first)
    for (std::vector<size_t> open = {first}; !open.empty();) {
      size_t at = open.back(), waiting = open.size();
      if (!placed[at])
        for (ValueId id : graph.nodes[at].operands)
          if (int32_t maker = id == ValueId::none ? -1 : made_by[index_of(id)];
              maker >= 0 && !placed[static_cast<size_t>(maker)])
            open.push_back(static_cast<size_t>(maker));
      if (open.size() > waiting) continue;
      open.pop_back();
      if (placed[at]) continue;
      placed[at] = true;
      sorted.push_back(graph.nodes[at]);
    }
  graph.nodes = std::move(sorted);
}

}  // namespace

void replace_uses(Graph& graph, const std::map<ValueId, ValueId>& replacement) {
  std::vector<ValueId> all(graph.values.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<ValueId>(i);
  for (auto [from, to] : replacement) all[index_of(from)] = to;
  replace_uses(graph, all);
  sort_nodes(graph);
  remove_dead_code(graph);
}

}  // namespace stitch
