// Reductions over dimensions of size one become views.
#include <algorithm>

#include "passes/pipeline.h"

namespace stitch {

namespace {

bool returns_single_element(Op op) {
  return op == Op::sum || op == Op::mean || op == Op::prod || op == Op::amax || op == Op::amin ||
         op == Op::logsumexp;
}

}  // namespace

bool drop_single_reductions(Graph& graph) {
  bool changed = false;
  for (Node& node : graph.nodes) {
    if (!returns_single_element(node.op)) continue;
    const TensorType &before = graph.type(node.operands[0]), &after = graph.type(node.results[0]);
    // As many elements as before: nothing is reduced.
    if (before.elements() != after.elements() || before.dtype != after.dtype || before.elements() == 0)
      continue;
    node.op = Op::reshape;
    node.attributes = Attributes{{"shape", after.shape}};
    changed = true;
  }
  return changed;
}

}  // namespace stitch
