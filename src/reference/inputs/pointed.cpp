#include "reference/inputs/pointed.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "reference/inputs/fade.h"

namespace stitch::verifier {

namespace {

// Gates are sigmoids: of 5, split between both biases, 0.993 is left after each step. PyTorch's own leave
// half, so that the first of a hundred steps are less than rounding.
constexpr double of_a_gate = 2.5;
// Large matrices on a state that lasts are chaotic: rounding grows until nothing can be told.
constexpr double fed_back = 0.125;
// A state that is handed on nearly whole, and inputs that don't saturate its tanh.
constexpr double handed_on = 0.97, mixed = 0.1, of_inputs = 0.1;
// exp overflows at 88: a softmax that subtracts another element than the largest gives infinities.
constexpr double by_far = 150;
constexpr double by_far_without_bias = 64;

class Changes {
 public:
  explicit Changes(const Graph& graph) : graph_(graph) {}

  void remember(const Node& node) {
    const std::string_view kind = node.attributes.text("kind");
    const int64_t hidden = graph_.type(node.results[1]).shape.back();
    int matrices = 0;
    for (ValueId id : node.operands) {
      if (!is_weight(id)) continue;
      const Shape& shape = graph_.type(id).shape;
      // i, f, g, o of an LSTM; r, z, n of a GRU: the one that keeps the state is the second of both.
      if ((kind == "lstm" || kind == "gru") && shape.size() == 1 && shape[0] > 2 * hidden)
        add({.begin = hidden, .end = 2 * hidden, .add = of_a_gate}, id);
      // A layer has the input's matrix, the state's, and biases.
      const bool of_the_state = shape.size() == 2 && matrices++ % 2 == 1;
      if ((kind == "lstm" || kind == "gru") && of_the_state) add({.end = shape[0], .scale = fed_back}, id);
      if (kind == "lstm" || kind == "gru" || shape.empty() || shape[0] != hidden) continue;
      if (of_the_state)
        add({.end = hidden, .scale = mixed, .diagonal = handed_on}, id);
      else
        add({.end = hidden, .scale = of_inputs}, id);
    }
  }

  // Back from a softmax, through what neither mixes nor moves classes, to the layer that made them.
  void single_out(ValueId id, int64_t classes, int depth = 0) {
    constexpr int deep_enough = 8;
    if (id == ValueId::none || depth > deep_enough) return;
    if (is_weight(id)) {
      if (graph_.type(id).shape == Shape{classes})
        add({.begin = classes - 1, .end = classes, .add = by_far}, id);
      return;
    }
    const auto made = std::ranges::find_if(graph_.nodes, [&](const Node& node) {
      return std::ranges::find(node.results, id) != node.results.end();
    });
    if (made == graph_.nodes.end()) return;
    const Family family = info(made->op).family;
    if (made->op == Op::linear || family == Family::convolution) {
      const bool has_bias = made->operands.size() > 2 && made->operands[2] != ValueId::none;
      if (has_bias)
        single_out(made->operands[2], classes, depth + 1);
      else if (is_weight(made->operands[1]) && graph_.type(made->operands[1]).shape[0] == classes)
        add({.begin = classes - 1, .end = classes, .scale = by_far_without_bias}, made->operands[1]);
    } else if (family == Family::pointwise || family == Family::view) {
      for (ValueId operand : made->operands) single_out(operand, classes, depth + 1);
    }
  }

  std::vector<WeightChange> take() { return std::move(all_); }

 private:
  bool is_weight(ValueId id) const { return id != ValueId::none && graph_[id].role == Role::parameter; }

  void add(WeightChange change, ValueId id) {
    change.data = graph_[id].data;
    if (known_.insert(change.data).second) all_.push_back(std::move(change));
  }

  const Graph& graph_;
  std::set<std::string> known_;
  std::vector<WeightChange> all_;
};

}  // namespace

std::vector<WeightChange> tail_weights(const Graph& graph) {
  // Close together, so that what is nearer to zero, and larger, doesn't prevail; and then about one again.
  constexpr double calm = 0x1p-3, loud = 0x1p9;
  const std::vector<int32_t> makers = producers(graph);
  const std::vector<std::vector<int32_t>> readers = users(graph);
  std::vector<WeightChange> out;
  auto is_weight = [&](const Node& node, size_t i) {
    return i < node.operands.size() && node.operands[i] != ValueId::none &&
           graph[node.operands[i]].role == Role::parameter && graph.type(node.operands[i]).rank() > 0;
  };
  auto change = [&](ValueId weight, double scale, double add) {
    out.push_back(
        {.data = graph[weight].data, .end = graph.type(weight).shape[0], .scale = scale, .add = add});
  };
  auto passes = [](const Node& node) {
    const Family family = info(node.op).family;
    return family == Family::pointwise || family == Family::view || family == Family::movement ||
           family == Family::pool;
  };
  for (const Node& gelu : graph.nodes) {
    if (gelu.op != Op::gelu) continue;
    int32_t before = makers[index_of(gelu.operands[0])];
    while (before >= 0 && passes(graph.node(before)) && graph.node(before).op != Op::add)
      before = makers[index_of(graph.node(before).operands[0])];
    if (before < 0 || !is_weight(graph.node(before), 1) || !is_weight(graph.node(before), 2)) continue;
    change(graph.node(before).operands[1], calm, 0);
    change(graph.node(before).operands[2], calm, tail_of_gelu);
    std::vector<ValueId> carries = {gelu.results[0]};
    for (size_t i = 0; i < carries.size(); ++i)
      for (int32_t reader : readers[index_of(carries[i])]) {
        const Node& node = graph.node(reader);
        if (is_product(node) && is_weight(node, 1) && node.operands[0] == carries[i])
          change(node.operands[1], loud, 0);
        else if (passes(node) && std::ranges::find(carries, node.results[0]) == carries.end())
          carries.push_back(node.results[0]);
      }
  }
  return out;
}

std::vector<WeightChange> pointed_weights(const Graph& graph) {
  Changes changes(graph);
  for (const Node& node : graph.nodes) {
    if (node.op == Op::rnn) changes.remember(node);
    if (node.op != Op::softmax && node.op != Op::log_softmax && node.op != Op::logsumexp) continue;
    const Shape& shape = graph.type(node.operands[0]).shape;
    for (int64_t size : std::set<int64_t>(shape.begin(), shape.end()))
      if (size > 1) changes.single_out(node.operands[0], size);
  }
  return changes.take();
}

Json to_json(const std::vector<WeightChange>& changes) {
  Json out = Json::array();
  for (const WeightChange& change : changes)
    out.push_back({{"name", change.data},
                   {"begin", change.begin},
                   {"end", change.end},
                   {"scale", change.scale},
                   {"add", change.add},
                   {"diagonal", change.diagonal}});
  return out;
}

void change(oracle::Tensor& tensor, const WeightChange& change) {
  const Shape& shape = tensor.shape();
  const int64_t rows = shape.empty() ? 1 : shape[0], each = rows ? tensor.elements() / rows : 0;
  double* values = tensor.writable<double>();
  for (int64_t i = change.begin * each; i < change.end * each; ++i) {
    const bool on_diagonal = i / each == i % each;
    values[i] = values[i] * change.scale + change.add + (on_diagonal ? change.diagonal : 0);
  }
}

}  // namespace stitch::verifier
