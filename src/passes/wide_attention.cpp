// Attention with wide heads becomes two products and a softmax, where fused kernels are slower
// (RewriteLimits).
//   attention(q, k, v)   is   softmax(q · k' · scale) · v
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

bool has_wide_heads(const Graph& graph, const Node& node, const RewriteLimits& limits) {
  if (node.op != Op::attention) return false;
  const bool masked = node.operands.size() > 3 && node.operands[3] != ValueId::none;
  const Shape &q = graph.type(node.operands[0]).shape, &k = graph.type(node.operands[1]).shape,
              &v = graph.type(node.operands[2]).shape;
  if (masked || node.attributes.flag("causal") || node.attributes.number("soft_cap") != 0 ||
      node.attributes.text("weights") == "relu" || graph.type(node.results[0]).dtype != DType::f32)
    return false;
  // Not for heads that share k and v (grouped queries).
  if (q.size() < 2 || !std::equal(q.begin(), q.end() - 2, k.begin(), k.end() - 2)) return false;
  const int64_t queries = q.end()[-2], keys = k.end()[-2], width = std::min(q.back(), v.back());
  return width >= limits.multiplied_head && std::min(queries, keys) >= limits.multiplied_tokens &&
         keys <= limits.keys_of_feature * width;
}

ValueId two_products(Graph& graph, const Node& node) {
  const std::string name = graph[node.results[0]].name;
  const auto rank = static_cast<int64_t>(graph.type(node.operands[0]).shape.size());
  Builder builder(graph, node);
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank - 2; ++d) order.push_back(d);
  order.insert(order.end(), {rank - 1, rank - 2});
  const ValueId keys = builder.add(Op::permute, {node.operands[1]}, {{"dims", order}}, name + ".keys");
  const ValueId products = builder.add(Op::matmul, {node.operands[0], keys}, {}, name + ".products");
  const ValueId scale = builder.add(
      Op::full, {}, {{"shape", Shape{}}, {"dtype", DType::f32}, {"value", node.attributes.number("scale")}},
      name + ".scale");
  const ValueId scores = builder.add(Op::mul, {products, scale}, {}, name + ".scores");
  const ValueId weights = builder.add(Op::softmax, {scores}, {{"dim", rank - 1}}, name + ".weights");
  return builder.add(Op::matmul, {weights, node.operands[2]}, {}, name + ".heads");
}

}  // namespace

bool multiply_wide_heads(Graph& graph, const RewriteLimits& limits) {
  std::map<ValueId, ValueId> replacement;
  const size_t count = graph.nodes.size();
  for (size_t n = 0; n < count; ++n) {
    const Node node = graph.nodes[n];
    if (has_wide_heads(graph, node, limits)) replacement[node.results[0]] = two_products(graph, node);
  }
  if (replacement.empty()) return false;
  replace_uses(graph, replacement);
  return true;
}

}  // namespace stitch
