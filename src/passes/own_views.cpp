// Duplicates cheap nodes for each of their users:
// - a reshape of an input: a product reads through a view of its own, but a shared one would be copied;
// - a scatter's initial constant: shared zeros would be written to memory and read again;
// - chains of views of an input, such as keys and values sliced from one cache;
// - an expanded index of gathers and scatters: shared, it would be stored once per element of a row.
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

bool is_product(Op op) { return op == Op::linear || op == Op::matmul || op == Op::einsum; }
bool is_scatter(Op op) { return op == Op::scatter || op == Op::index_put; }
bool is_view(Op op) { return op == Op::slice || op == Op::reshape || op == Op::permute || op == Op::expand; }

bool is_indexed(Op op) { return is_scatter(op) || op == Op::gather || op == Op::index; }

bool give_own_expansions(Graph& graph) {
  std::vector<std::vector<int32_t>> used_by = users(graph);
  bool changed = false;
  const size_t count = graph.nodes.size();
  for (size_t i = 0; i < count; ++i) {
    const Node view = graph.nodes[i];
    if (view.op != Op::expand || is_floating(graph.type(view.results[0]).dtype)) continue;
    std::vector<int32_t> readers = used_by[index_of(view.results[0])];
    std::ranges::sort(readers);
    readers.erase(std::ranges::unique(readers).begin(), readers.end());
    for (size_t r = 1; r < readers.size(); ++r) {
      if (!is_indexed(graph.node(readers[r]).op)) continue;
      const ValueId own =
          Builder(graph, view)
              .add(view.op, view.operands, view.attributes, graph[view.results[0]].name + ".own");
      std::ranges::replace(graph.node(readers[r]).operands, view.results[0], own);
      changed = true;
    }
  }
  if (changed) sort_nodes(graph);
  return changed;
}

// Chains of views of a leaf that only views read.
bool give_own_chains(Graph& graph) {
  std::vector<int32_t> makers = producers(graph);
  std::vector<std::vector<int32_t>> used_by = users(graph);
  auto is_wanted = [&](ValueId id) {
    return std::ranges::find(graph.outputs, id) != graph.outputs.end() ||
           std::ranges::find(graph.updates, id, &Update::value) != graph.updates.end();
  };
  auto begins_at_leaf = [&](const Node& view) {
    for (const Node* node = &view;;) {
      const int32_t maker = makers[index_of(node->operands[0])];
      if (maker < 0) return true;
      node = &graph.node(maker);
      if (!is_view(node->op)) return false;
    }
  };
  bool changed = false;
  // From the end: readers of a view are separated before the view itself.
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node view = graph.nodes[i];
    if (!is_view(view.op) || is_wanted(view.results[0]) || !begins_at_leaf(view)) continue;
    const std::vector<int32_t> readers = used_by[index_of(view.results[0])];
    if (readers.size() < 2 ||
        !std::ranges::all_of(readers, [&](int32_t user) { return is_view(graph.node(user).op); }))
      continue;
    for (size_t r = 1; r < readers.size(); ++r) {
      const ValueId own =
          Builder(graph, view)
              .add(view.op, view.operands, view.attributes, graph[view.results[0]].name + ".own");
      used_by.resize(graph.values.size());
      used_by[index_of(own)] = {readers[r]};
      used_by[index_of(view.operands[0])].push_back(static_cast<int32_t>(graph.nodes.size()) - 1);
      graph.node(readers[r]).operands[0] = own;
      changed = true;
    }
    used_by[index_of(view.results[0])] = {readers[0]};
  }
  if (changed) sort_nodes(graph);
  return changed;
}

}  // namespace

bool give_own_views(Graph& graph) {
  const bool expansions = give_own_expansions(graph);
  const bool chains = give_own_chains(graph);
  std::vector<int32_t> makers = producers(graph);
  std::vector<std::vector<int32_t>> used_by = users(graph);
  bool changed = false;
  size_t count = graph.nodes.size();
  for (size_t i = 0; i < count; ++i) {
    const Node view = graph.nodes[i];
    const bool reshape = view.op == Op::reshape && makers[index_of(view.operands[0])] < 0;
    const bool constant = view.op == Op::full && graph.type(view.results[0]).elements() > 1;
    if (!reshape && !constant) continue;
    auto takes_own = [&](const Node& user) {
      return reshape ? is_product(user.op) : is_scatter(user.op) && user.operands[0] == view.results[0];
    };
    std::vector<int32_t> users = used_by[index_of(view.results[0])];
    std::ranges::sort(users);
    users.erase(std::ranges::unique(users).begin(), users.end());
    // The last user keeps the original.
    for (size_t left = users.size(); int32_t user : users) {
      if (left == 1 || !takes_own(graph.node(user))) continue;
      ValueId own = Builder(graph, view)
                        .add(view.op, view.operands, view.attributes, graph[view.results[0]].name + ".own");
      std::ranges::replace(graph.node(user).operands, view.results[0], own);
      --left;
      changed = true;
    }
  }
  if (changed) sort_nodes(graph);
  return changed || chains || expansions;
}

}  // namespace stitch
