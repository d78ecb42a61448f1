// A mask that depends on no input and no weight is evaluated here. One that hides nothing is removed; one
// that hides the keys after each query becomes `causal`, which computes half and reads no mask. Any other,
// e.g. a window, becomes a bool mask even if the model adds it: kernels skip what it hides.
#include <algorithm>
#include <array>
#include <set>

#include "oracle/interpreter.h"
#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

enum class Hides : uint8_t { nothing, what_follows, some_keys, something };

constexpr int64_t largest_mask = int64_t{1} << 26;

class Masks {
 public:
  explicit Masks(const Graph& graph) : graph_(graph), makers_(producers(graph)) {}

  Hides of(ValueId mask, int64_t queries, int64_t keys) {
    auto [known, fresh] = known_.try_emplace(mask, Hides::something);
    if (fresh && is_plain(mask)) known->second = look(mask, queries, keys);
    return known->second;
  }

 private:
  bool is_plain(ValueId value) const {
    std::set<ValueId> seen{value};
    for (std::vector<ValueId> open{value}; !open.empty();) {
      const ValueId at = open.back();
      open.pop_back();
      const int32_t maker = makers_[index_of(at)];
      if (maker < 0 || graph_.type(at).elements() > largest_mask) return false;
      const Node& node = graph_.node(maker);
      if (node.op == Op::random) return false;
      for (ValueId operand : node.operands)
        if (operand != ValueId::none && seen.insert(operand).second) open.push_back(operand);
    }
    return true;
  }

  Hides look(ValueId mask, int64_t queries, int64_t keys) const {
    const Shape& shape = graph_.type(mask).shape;
    if (shape.size() < 2 || shape[shape.size() - 2] != queries || shape.back() != keys)
      return Hides::something;
    auto made = oracle::evaluate(graph_, {}, std::array{mask});
    if (!made) return Hides::something;
    const oracle::Tensor& tensor = made->front();
    bool all = true, triangle = true, every_row = true, of_row = false;
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const bool before = i % keys <= i / keys % queries;
      bool kept = false;
      if (tensor.floating()) {
        // Adding this leaves no weight, whatever the scores: 65504 is the largest number in fp16.
        const double added = tensor.data<double>()[i];
        if (added != 0 && !(added <= -6e4)) return Hides::something;
        kept = added == 0;
      } else {
        kept = tensor.data<int64_t>()[i] != 0;
      }
      all = all && kept;
      triangle = triangle && kept == before;
      of_row = (i % keys != 0 && of_row) || kept;
      if (i % keys == keys - 1) every_row = every_row && of_row;
    }
    if (all) return Hides::nothing;
    if (triangle) return Hides::what_follows;
    // A query without visible keys is weighted by the added values.
    return tensor.floating() && every_row ? Hides::some_keys : Hides::something;
  }

  const Graph& graph_;
  std::vector<int32_t> makers_;
  std::map<ValueId, Hides> known_;
};

}  // namespace

bool drop_plain_masks(Graph& graph) {
  Masks masks(graph);
  bool changed = false;
  std::map<ValueId, ValueId> as_bool;
  const size_t count = graph.nodes.size();
  for (size_t n = 0; n < count; ++n) {
    Node& node = graph.nodes[n];
    if (node.op != Op::attention || node.operands.size() < 4 || node.operands[3] == ValueId::none) continue;
    const Shape &q = graph.type(node.operands[0]).shape, &k = graph.type(node.operands[1]).shape;
    const Hides hides = masks.of(node.operands[3], q[q.size() - 2], k[k.size() - 2]);
    if (hides == Hides::something) continue;
    if (hides == Hides::some_keys) {
      const ValueId mask = node.operands[3];
      auto [found, fresh] = as_bool.try_emplace(mask, ValueId::none);
      if (fresh) {
        Builder builder(graph, node);
        const ValueId zero =
            builder.add(Op::full, {}, {{"shape", Shape{}}, {"dtype", graph.type(mask).dtype}, {"value", 0.0}},
                        graph[mask].name + ".zero");
        found->second = builder.add(Op::eq, {mask, zero}, {}, graph[mask].name + ".kept");
      }
      graph.nodes[n].operands[3] = found->second;
      changed = true;
      continue;
    }
    if (hides == Hides::what_follows) node.attributes.set("causal", true);
    node.operands[3] = ValueId::none;
    changed = true;
  }
  if (changed) {
    sort_nodes(graph);
    remove_dead_code(graph);
  }
  return changed;
}

}  // namespace stitch
