// stack([f(y[0]), f(y[1]), …]) becomes f(y): what an unrolled loop does per step is done at once. f: linear
// layers and pointwise functions.
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

constexpr size_t fewest_steps = 4;

class Stack {
 public:
  Stack(const Graph& graph, const std::vector<int32_t>& made_by, const Node& concat)
      : graph_(graph), made_by_(made_by), dim_(concat.attributes.integer("dim")), values_(concat.operands) {}

  // Whether the node is such a stack; then `source`, `start` and `layers` are set.
  bool found() {
    if (values_.size() < fewest_steps || !peel_ones()) return false;
    while (!at_slices())
      if (!peel_layer()) return false;
    return true;
  }

  ValueId source = ValueId::none;
  int64_t start = 0;
  std::vector<const Node*> layers;  // of the first step, outermost first

 private:
  const Node* maker(ValueId id) const {
    int32_t made = id == ValueId::none ? -1 : made_by_[index_of(id)];
    return made < 0 ? nullptr : &graph_.node(made);
  }

  // Reshapes that only insert a 1 where the steps are stacked.
  bool peel_ones() {
    for (ValueId& id : values_) {
      const Node* reshape = maker(id);
      if (!reshape || reshape->op != Op::reshape) return false;
      Shape shape = graph_.type(reshape->operands[0]).shape;
      if (dim_ > std::ssize(shape)) return false;
      shape.insert(shape.begin() + dim_, 1);
      if (shape != graph_.type(id).shape) return false;
      id = reshape->operands[0];
    }
    return true;
  }

  bool at_slices() {
    for (size_t t = 0; t < values_.size(); ++t) {
      const Node* reshape = maker(values_[t]);
      const Node* slice = reshape && reshape->op == Op::reshape ? maker(reshape->operands[0]) : nullptr;
      if (!slice || slice->op != Op::slice || slice->attributes.integer("dim") != dim_) return false;
      int64_t at = slice->attributes.integer("start");
      Shape shape = graph_.type(slice->operands[0]).shape;
      shape.erase(shape.begin() + dim_);
      if (slice->attributes.integer("end") != at + 1 || shape != graph_.type(values_[t]).shape) return false;
      if (t == 0) {
        source = slice->operands[0];
        start = at;
      }
      if (slice->operands[0] != source || at != start + static_cast<int64_t>(t)) return false;
    }
    return true;
  }

  // The same op with the same weights on every step.
  bool peel_layer() {
    const Node* first = maker(values_[0]);
    if (!first || first->results.size() != 1 || first->operands.empty()) return false;
    bool linear = first->op == Op::linear && dim_ < graph_.type(values_[0]).rank();
    bool element_wise = info(first->op).family == Family::pointwise && first->operands.size() == 1;
    if (!linear && !element_wise) return false;
    for (ValueId& id : values_) {
      const Node* own = maker(id);
      if (!own || own->op != first->op || own->attributes != first->attributes ||
          own->operands.size() != first->operands.size() ||
          !std::equal(own->operands.begin() + 1, own->operands.end(), first->operands.begin() + 1))
        return false;
      id = own->operands[0];
    }
    layers.push_back(first);
    return true;
  }

  const Graph& graph_;
  const std::vector<int32_t>& made_by_;
  int64_t dim_;
  std::vector<ValueId> values_;
};

}  // namespace

bool compute_stacked_steps_at_once(Graph& graph) {
  std::vector<int32_t> made_by = producers(graph);
  std::map<ValueId, ValueId> replacement;
  // A copy, since adding nodes invalidates references.
  const std::vector<Node> before = graph.nodes;
  for (const Node& node : before) {
    if (node.op != Op::concat) continue;
    Stack stack(graph, made_by, node);
    if (!stack.found()) continue;
    std::vector<Node> layers;
    for (const Node* layer : stack.layers) layers.push_back(*layer);
    int64_t dim = node.attributes.integer("dim");
    ValueId value =
        Builder(graph, node)
            .slice(stack.source, dim, stack.start, stack.start + std::ssize(node.operands), "steps");
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      std::vector<ValueId> operands = layer->operands;
      operands[0] = value;
      value =
          Builder(graph, *layer).add(layer->op, operands, layer->attributes, graph[layer->results[0]].name);
    }
    replacement.emplace(node.results[0], value);
  }
  if (replacement.empty()) return false;
  replace_uses(graph, replacement);
  return true;
}

}  // namespace stitch
