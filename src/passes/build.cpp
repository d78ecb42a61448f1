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

void replace_uses(Graph& graph, const std::map<ValueId, ValueId>& replacement) {
  std::vector<ValueId> all(graph.values.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<ValueId>(i);
  for (auto [from, to] : replacement) all[index_of(from)] = to;
  replace_uses(graph, all);
  sort_nodes(graph);
  remove_dead_code(graph);
}

}  // namespace stitch
