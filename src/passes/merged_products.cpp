// Products of one tensor with several weights (q, k and v; a gate and its value) become one product with the
// weights concatenated, and views of its result. For 16-bit types, where one such product doesn't fill the
// GPU: one launch instead of three.
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

class Merger {
 public:
  Merger(Graph& graph, double too_large)
      : graph_(graph), too_large_(too_large), makers_(producers(graph)), users_(users(graph)) {}

  bool run() {
    std::map<ValueId, std::vector<Node>> siblings;
    for (const Node& node : graph_.nodes)
      if (may_join(node)) siblings[node.operands[0]].push_back(node);
    for (auto& [left, nodes] : siblings)
      if (nodes.size() > 1) merge(nodes);
    if (replacement_.empty()) return false;
    replace_uses(graph_, replacement_);
    return true;
  }

 private:
  bool may_join(const Node& node) const {
    if (node.op != Op::linear || !is_weight(node.operands[1]) ||
        (has_bias(node) && !is_weight(node.operands[2])))
      return false;
    const TensorType& type = graph_.type(node.results[0]);
    const Shape& weight = graph_.type(node.operands[1]).shape;
    return (type.dtype == DType::f16 || type.dtype == DType::bf16) && weight.size() == 2 &&
           2.0 * static_cast<double>(type.elements() * weight[1]) < too_large_ &&
           !ends_in_a_library(node.results[0]);
  }

  // The library fuses what follows into its epilogue, which it can't do for a part of the result; or the
  // result is an output.
  bool ends_in_a_library(ValueId value) const {
    if (std::ranges::find(graph_.outputs, value) != graph_.outputs.end() ||
        std::ranges::find(graph_.updates, value, &Update::value) != graph_.updates.end())
      return true;
    const auto& next = users_[index_of(value)];
    if (next.size() != 1) return false;
    const Node& follower = graph_.node(next[0]);
    if (follower.op == Op::add) return true;
    return (follower.op == Op::relu || follower.op == Op::gelu) && !is_gate(value, follower.results[0]);
  }

  // Whether the activation is then multiplied with another product of the same tensor. That needs a pass over
  // both, which can apply the activation as well.
  bool is_gate(ValueId product, ValueId bent) const {
    const auto& next = users_[index_of(bent)];
    if (next.size() != 1) return false;
    const Node& gated = graph_.node(next[0]);
    if (gated.op != Op::mul) return false;
    const Node* through = maker(gated.operands[gated.operands[0] == bent ? 1 : 0]);
    return through && through->op == Op::linear && may_join(*through) &&
           through->operands[0] == maker(product)->operands[0];
  }

  const Node* maker(ValueId value) const {
    const int32_t node = makers_[index_of(value)];
    return node < 0 ? nullptr : &graph_.node(node);
  }

  static bool has_bias(const Node& node) {
    return node.operands.size() > 2 && node.operands[2] != ValueId::none;
  }

  bool is_weight(ValueId value) const {
    return graph_[value].has_data() &&
           std::ranges::find(graph_.updates, value, &Update::target) == graph_.updates.end();
  }

  // Zeros, for mixed cases: Whisper's keys have no bias, its queries and values do.
  ValueId no_bias(Builder& builder, const Node& node) {
    const TensorType& type = graph_.type(node.results[0]);
    return builder.add(Op::full, {},
                       {{"shape", Shape{type.shape.back()}}, {"dtype", type.dtype}, {"value", 0.0}},
                       graph_[node.results[0]].name + ".bias");
  }

  void merge(const std::vector<Node>& nodes) {
    Builder builder(graph_, nodes.front());
    const std::string name = graph_[nodes.front().results[0]].name;
    auto joined = [&](size_t operand, const char* suffix) {
      std::vector<ValueId> all;
      for (const Node& node : nodes)
        all.push_back(operand == 2 && !has_bias(node) ? no_bias(builder, node) : node.operands[operand]);
      return builder.add(Op::concat, std::move(all), {{"dim", int64_t{0}}}, name + suffix);
    };
    std::vector<ValueId> operands{nodes.front().operands[0], joined(1, ".weights")};
    if (std::ranges::any_of(nodes, has_bias)) operands.push_back(joined(2, ".biases"));
    const ValueId whole = builder.add(Op::linear, std::move(operands), {}, name + ".merged");
    const int64_t last = static_cast<int64_t>(graph_.type(whole).rank()) - 1;
    int64_t start = 0;
    for (const Node& node : nodes) {
      const int64_t end = start + graph_.type(node.results[0]).shape.back();
      replacement_[node.results[0]] =
          Builder(graph_, node).slice(whole, last, start, end, graph_[node.results[0]].name + ".part");
      start = end;
    }
  }

  Graph& graph_;
  double too_large_;  // operations
  std::vector<int32_t> makers_;
  std::vector<std::vector<int32_t>> users_;
  std::map<ValueId, ValueId> replacement_;
};

}  // namespace

bool merge_products(Graph& graph, const RewriteLimits& limits) {
  return Merger(graph, limits.merged_operations).run();
}

}  // namespace stitch
