// An average pool after a 1 x 1 convolution is moved before it:
//   pool(w · x + b) = w · pool(x) + b
// so that the convolution has fewer pixels, a quarter in DenseNet's transitions.
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

bool all_are(const std::vector<int64_t>& numbers, int64_t wanted) {
  return std::ranges::all_of(numbers, [&](int64_t number) { return number == wanted; });
}

bool mixes_channels_only(const Graph& graph, const Node& node) {
  if (node.op != Op::conv) return false;
  const Shape& weight = graph.type(node.operands[1]).shape;
  return std::all_of(weight.begin() + 2, weight.end(), [](int64_t taps) { return taps == 1; }) &&
         all_are(node.attributes.integers("stride"), 1) && all_are(node.attributes.integers("padding"), 0);
}

// Whether its weights add up to one everywhere, so that a bias is unchanged.
bool averages(const Node& node) {
  if (node.op == Op::adaptive_avg_pool) return true;
  return node.op == Op::avg_pool && all_are(node.attributes.integers("padding"), 0) &&
         node.attributes.integer("divisor") == 0;
}

}  // namespace

bool pool_before_convolutions(Graph& graph) {
  std::vector<int32_t> makers = producers(graph);
  std::vector<std::vector<int32_t>> used_by = users(graph);
  bool changed = false;
  size_t count = graph.nodes.size();
  for (size_t i = 0; i < count; ++i) {
    const Node pool = graph.nodes[i];
    if (!averages(pool)) continue;
    ValueId between = pool.operands[0];
    int32_t maker = makers[index_of(between)];
    if (maker < 0 || !mixes_channels_only(graph, graph.node(maker))) continue;
    bool wanted = std::ranges::find(graph.outputs, between) != graph.outputs.end() ||
                  std::ranges::find(graph.updates, between, &Update::value) != graph.updates.end();
    bool smaller = 2 * graph.type(pool.results[0]).elements() <= graph.type(between).elements();
    if (used_by[index_of(between)].size() != 1 || wanted || !smaller) continue;
    const Node convolution = graph.node(maker);
    std::vector<ValueId> operands = convolution.operands;
    operands[0] =
        Builder(graph, pool).add(pool.op, {operands[0]}, pool.attributes, graph[between].name + ".pooled");
    Node& node = graph.nodes[i];
    node.op = Op::conv;
    node.operands = std::move(operands);
    node.attributes = convolution.attributes;
    node.where = convolution.where;
    node.module = convolution.module;
    changed = true;
  }
  if (!changed) return false;
  sort_nodes(graph);
  remove_dead_code(graph);
  return true;
}

}  // namespace stitch
