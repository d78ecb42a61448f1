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

// "y_2", derived from "y".
bool is_made_in_the_name_of(std::string_view name, std::string_view other) {
  if (!name.starts_with(other) || name.size() < other.size() + 2 || name[other.size()] != '_') return false;
  return name.find_first_not_of("0123456789", other.size() + 1) == std::string_view::npos;
}

}  // namespace

// A replacement takes over the old value's name, which recorded reference data refers to.
void replace_uses(Graph& graph, const std::map<ValueId, ValueId>& replacement) {
  for (auto [from, to] : replacement) {
    const std::string name = graph[from].name;
    if (!is_made_in_the_name_of(graph[to].name, name)) continue;
    graph.rename(from, name + ".replaced");
    graph.rename(to, name);
  }
  std::vector<ValueId> all(graph.values.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<ValueId>(i);
  for (auto [from, to] : replacement) all[index_of(from)] = to;
  replace_uses(graph, all);
  sort_nodes(graph);
  remove_dead_code(graph);
}

}  // namespace stitch
