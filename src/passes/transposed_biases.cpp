// A transposed convolution is the gradient of one, and gradients have no bias: libraries add it in a pass of
// its own. As a separate add it fuses into the next kernel (a norm or pool), which reads the result anyway.
//   conv_transpose(x, weight, bias)   is   conv_transpose(x, weight) + bias
#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

bool set_biases_apart(Graph& graph) {
  std::map<ValueId, ValueId> replacement;
  const size_t count = graph.nodes.size();
  for (size_t n = 0; n < count; ++n) {
    const Node node = graph.nodes[n];
    if (node.op != Op::conv_transpose || node.operands.size() < 3 || node.operands[2] == ValueId::none)
      continue;
    const std::string name = graph[node.results[0]].name;
    Shape along(graph.type(node.results[0]).shape.size(), 1);
    along[1] = graph.type(node.operands[2]).shape[0];
    Builder builder(graph, node);
    ValueId product =
        builder.add(node.op, {node.operands[0], node.operands[1]}, node.attributes, name + "_product");
    ValueId bias = builder.add(Op::reshape, {node.operands[2]}, {{"shape", along}}, name + "_bias");
    replacement[node.results[0]] = builder.add(Op::add, {product, bias}, {}, name);
  }
  if (replacement.empty()) return false;
  replace_uses(graph, replacement);
  return true;
}

}  // namespace stitch
