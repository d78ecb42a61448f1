// A mask that no input and no weight has a say in is looked at once: one that hides nothing goes, and one
// that hides the keys behind each query is attention's own `causal`, which computes half and reads no mask.
#include <algorithm>
#include <set>

#include "oracle/interpreter.h"
#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

enum class Hides : uint8_t { nothing, what_follows, something };

constexpr int64_t most_elements = int64_t{1} << 24;

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
      if (maker < 0 || graph_.type(at).elements() > most_elements) return false;
      const Node& node = graph_.nodes[static_cast<size_t>(maker)];
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
    bool all = true, triangle = true;
    for (int64_t i = 0; i < tensor.elements() && (all || triangle); ++i) {
      const bool before = i % keys <= i / keys % queries;
      bool kept = false;
      if (tensor.floating()) {
        // Less than this is no weight whatever the scores are: 65504 is the largest number of fp16.
        const double added = tensor.data<double>()[i];
        if (added != 0 && !(added <= -6e4)) return Hides::something;
        kept = added == 0;
      } else {
        kept = tensor.data<int64_t>()[i] != 0;
      }
      all = all && kept;
      triangle = triangle && kept == before;
    }
    return all ? Hides::nothing : triangle ? Hides::what_follows : Hides::something;
  }

  const Graph& graph_;
  std::vector<int32_t> makers_;
  std::map<ValueId, Hides> known_;
};

}  // namespace

bool drop_plain_masks(Graph& graph) {
  Masks masks(graph);
  bool changed = false;
  for (Node& node : graph.nodes) {
    if (node.op != Op::attention || node.operands.size() < 4 || node.operands[3] == ValueId::none) continue;
    const Shape &q = graph.type(node.operands[0]).shape, &k = graph.type(node.operands[1]).shape;
    const Hides hides = masks.of(node.operands[3], q[q.size() - 2], k[k.size() - 2]);
    if (hides == Hides::something) continue;
    if (hides == Hides::what_follows) node.attributes.set("causal", true);
    node.operands[3] = ValueId::none;
    changed = true;
  }
  if (changed) remove_dead_code(graph);
  return changed;
}

}  // namespace stitch
