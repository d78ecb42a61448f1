// A reshape of what comes in that several nodes use becomes one for each product among them: a product reads
// through a view that is its own, and one that is shared would be copied for all. And every scatter has its
// own constant to begin with: zeros that several share would be written to memory and read again by each.
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

bool is_product(Op op) { return op == Op::linear || op == Op::matmul || op == Op::einsum; }
bool is_scatter(Op op) { return op == Op::scatter || op == Op::index_put; }

}  // namespace

bool give_own_views(Graph& graph) {
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
    // Whoever is left alone keeps the first.
    for (size_t left = users.size(); int32_t user : users) {
      if (left == 1 || !takes_own(graph.nodes[static_cast<size_t>(user)])) continue;
      ValueId own = Builder(graph, view)
                        .add(view.op, view.operands, view.attributes, graph[view.results[0]].name + ".own");
      std::ranges::replace(graph.nodes[static_cast<size_t>(user)].operands, view.results[0], own);
      --left;
      changed = true;
    }
  }
  if (changed) sort_nodes(graph);
  return changed;
}

}  // namespace stitch
