// A time loop that Python unrolled, hidden = tanh(linear(cat(x[t], hidden))), becomes one rnn, which one
// kernel can compute. Hidden states read elsewhere become slices of its result.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

constexpr size_t shortest_loop = 4;

// One step in the graph.
struct Step {
  ValueId weight, bias, x;  // x: (…, time, …), all steps
  int64_t dim, at;          // position of this step's input in x
  bool input_first;         // cat(input, state), not cat(state, input)
  Op activation;
  ValueId state, result;  // before and after
  int32_t node;

  // Equal for all steps of a loop.
  auto loop() const { return std::tuple(weight, bias, x, dim, input_first, activation); }
};

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), made_by_(producers(graph)) {}

  // Loops of at least `shortest_loop` steps, in order.
  std::vector<std::vector<Step>> loops() const {
    std::vector<Step> steps;
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      for (bool input_first : {true, false})
        if (auto step = step_at(static_cast<int32_t>(n), input_first)) steps.push_back(*step);
    std::map<ValueId, size_t> follower;  // by the state it reads
    std::map<ValueId, size_t> maker;
    for (size_t i = 0; i < steps.size(); ++i) {
      follower.emplace(steps[i].state, i);
      maker.emplace(steps[i].result, i);
    }
    auto follows = [](const Step& a, const Step& b) { return a.loop() == b.loop() && b.at == a.at + 1; };
    std::vector<std::vector<Step>> out;
    for (const Step& first : steps) {
      auto before = maker.find(first.state);
      if (before != maker.end() && follows(steps[before->second], first)) continue;
      std::vector<Step> loop = {first};
      for (auto next = follower.find(first.result);
           next != follower.end() && follows(loop.back(), steps[next->second]);
           next = follower.find(loop.back().result))
        loop.push_back(steps[next->second]);
      if (loop.size() >= shortest_loop) out.push_back(std::move(loop));
    }
    return out;
  }

 private:
  const Node* node_of(ValueId id, Op op) const {
    int32_t made = id == ValueId::none ? -1 : made_by_[index_of(id)];
    if (made < 0) return nullptr;
    const Node& node = graph_.node(made);
    return node.op == op ? &node : nullptr;
  }

  std::optional<Step> step_at(int32_t index, bool input_first) const {
    const Node& activation = graph_.node(index);
    if (activation.op != Op::tanh && activation.op != Op::relu) return std::nullopt;
    const Node* linear = node_of(activation.operands[0], Op::linear);
    const Node* cat = linear ? node_of(linear->operands[0], Op::concat) : nullptr;
    if (!cat || cat->operands.size() != 2 || graph_.type(cat->results[0]).rank() != 2 ||
        cat->attributes.integer("dim") != 1)
      return std::nullopt;
    ValueId input = cat->operands[input_first ? 0 : 1], state = cat->operands[input_first ? 1 : 0];
    const Node* reshape = node_of(input, Op::reshape);
    const Node* slice = reshape ? node_of(reshape->operands[0], Op::slice) : nullptr;
    if (!slice || graph_.type(state).shape != graph_.type(activation.results[0]).shape) return std::nullopt;
    const Attributes& cut = slice->attributes;
    const Shape& all = graph_.type(slice->operands[0]).shape;
    int64_t dim = cut.integer("dim"), at = cut.integer("start");
    if (all.size() != 3 || (dim != 0 && dim != 1) || cut.integer("end") != at + 1) return std::nullopt;
    if (graph_.type(input).shape != Shape{all[dim == 0 ? 1 : 0], all[2]}) return std::nullopt;
    ValueId bias = linear->operands.size() > 2 ? linear->operands[2] : ValueId::none;
    return Step{linear->operands[1], bias,  slice->operands[0],    dim,  at, input_first,
                activation.op,       state, activation.results[0], index};
  }

  const Graph& graph_;
  std::vector<int32_t> made_by_;
};

// Adds the rnn and returns each step's state as a slice of its result.
std::vector<ValueId> add_rnn(Graph& graph, const std::vector<Step>& loop) {
  const Step& first = loop.front();
  Builder build(graph, graph.node(first.node));
  const TensorType state = graph.type(first.state);
  int64_t batch = state.shape[0], hidden = state.shape[1], both = graph.type(first.weight).shape[1];
  int64_t input = both - hidden, steps = std::ssize(loop), input_at = first.input_first ? 0 : hidden,
          state_at = first.input_first ? input : 0;
  ValueId x = build.slice(first.x, first.dim, first.at, first.at + steps, "steps");
  ValueId h0 = build.add(Op::reshape, {first.state}, {{"shape", Shape{1, batch, hidden}}}, "before_steps");
  std::vector<ValueId> operands = {
      x, h0, ValueId::none, build.slice(first.weight, 1, input_at, input_at + input, "weight_of_input"),
      build.slice(first.weight, 1, state_at, state_at + hidden, "weight_of_state")};
  if (first.bias != ValueId::none) {
    operands.push_back(first.bias);
    operands.push_back(build.add(
        Op::full, {}, {{"shape", Shape{hidden}}, {"dtype", state.dtype}, {"value", 0.0}}, "no_bias"));
  }
  ValueId y = build.add(Op::rnn, operands,
                        {{"kind", std::string(first.activation == Op::tanh ? "tanh" : "relu")},
                         {"batch_first", first.dim == 1},
                         {"biases", first.bias != ValueId::none}},
                        "states");
  std::vector<ValueId> states;
  for (int64_t t = 0; t < steps; ++t) {
    ValueId cut = build.slice(y, first.dim, t, t + 1, "state.slice");
    states.push_back(build.add(Op::reshape, {cut}, {{"shape", state.shape}}, "state"));
  }
  return states;
}

}  // namespace

bool roll_recurrences(Graph& graph) {
  auto loops = Finder(graph).loops();
  if (loops.empty()) return false;
  std::map<ValueId, ValueId> states;
  for (const std::vector<Step>& loop : loops) {
    std::vector<ValueId> made = add_rnn(graph, loop);
    for (size_t t = 0; t < loop.size(); ++t) states.emplace(loop[t].result, made[t]);
  }
  replace_uses(graph, states);
  return true;
}

}  // namespace stitch
