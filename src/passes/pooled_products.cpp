// Sums, means and pools over a product's output features are applied to its weight instead:
//   Σ_j (x · W')_ij = x · (Σ_j W_jk)'
// The weight's sum is computed once, and the product shrinks. Multiplications by constants, added parameters
// and reshapes in between are moved along.
#include <algorithm>
#include <optional>

#include "passes/pipeline.h"

namespace stitch {

namespace {

// Reduces groups of `size` neighbours along the last dimension.
struct Pool {
  Op reduce;  // sum or mean
  int64_t size;
};

class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph), made_by_(producers(graph)), used_by_(users(graph)) {}

  // The pooled value, computed by new nodes at the end of the graph. `dry`: only checks whether it is
  // possible.
  std::optional<ValueId> pooled(ValueId value, const Pool& pool, bool dry) {
    const Node* found = maker(value);
    if (!found || used_by_[index_of(value)].size() != 1 || is_wanted(value)) return std::nullopt;
    const Node node = *found;
    const Shape shape = graph_.type(value).shape;
    if (shape.empty() || shape.back() % pool.size != 0) return std::nullopt;
    switch (node.op) {
      case Op::linear: return of_linear(node, pool, dry);
      case Op::matmul: return of_matmul(node, pool, dry);
      case Op::reshape: {
        if (graph_.type(node.operands[0]).shape.empty() ||
            graph_.type(node.operands[0]).shape.back() != shape.back())
          return std::nullopt;
        auto inner = pooled(node.operands[0], pool, dry);
        if (!inner || dry) return inner;
        Shape smaller = shape;
        smaller.back() /= pool.size;
        return add(Op::reshape, {*inner}, {{"shape", smaller}});
      }
      case Op::mul:
      case Op::div: return of_scaled(node, pool, dry);
      case Op::add:
      case Op::sub: return of_shifted(node, pool, dry);
      default: return std::nullopt;
    }
  }

  ValueId add(Op op, std::vector<ValueId> operands, const Attributes& attributes) {
    auto added = graph_.add_node(op, std::move(operands), attributes, {}, where_, module_);
    if (!added) throw Bug(added.error().text());
    return (*added)[0];
  }

  // The origin that new nodes record.
  void stand_for(const Node& node) { where_ = node.where, module_ = node.module; }

 private:
  const Node* maker(ValueId value) const {
    if (index_of(value) >= made_by_.size() || made_by_[index_of(value)] < 0) return nullptr;
    return &graph_.node(made_by_[index_of(value)]);
  }

  bool is_wanted(ValueId value) const {
    return std::ranges::find(graph_.outputs, value) != graph_.outputs.end() ||
           std::ranges::find(graph_.updates, value, &Update::value) != graph_.updates.end();
  }

  // A weight that no run changes, or a view of one.
  bool is_weight(ValueId value) const {
    while (const Node* node = maker(value)) {
      if (node->op != Op::permute && node->op != Op::reshape) return false;
      value = node->operands[0];
    }
    return graph_[value].has_data() &&
           std::ranges::find(graph_.updates, value, &Update::target) == graph_.updates.end();
  }

  bool is_constant(ValueId value) const {
    const Node* node = maker(value);
    return node && node->op == Op::full && graph_.type(value).elements() == 1;
  }

  // A weight pooled along one of its dimensions.
  ValueId pooled_weight(ValueId weight, size_t dim, const Pool& pool) {
    Shape shape = graph_.type(weight).shape;
    shape[dim] /= pool.size;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1, pool.size);
    ValueId groups = add(Op::reshape, {weight}, {{"shape", shape}});
    return add(pool.reduce, {groups}, {{"dims", std::vector<int64_t>{static_cast<int64_t>(dim) + 1}}});
  }

  std::optional<ValueId> of_linear(const Node& node, const Pool& pool, bool dry) {
    bool bias = node.operands.size() > 2 && node.operands[2] != ValueId::none;
    if (!is_weight(node.operands[1]) || (bias && !is_weight(node.operands[2]))) return std::nullopt;
    if (dry) return node.results[0];
    std::vector<ValueId> operands{node.operands[0], pooled_weight(node.operands[1], 0, pool)};
    if (bias) operands.push_back(pooled_weight(node.operands[2], 0, pool));
    return add(Op::linear, std::move(operands), {});
  }

  std::optional<ValueId> of_matmul(const Node& node, const Pool& pool, bool dry) {
    ValueId right = node.operands[1];
    if (!is_weight(right) || graph_.type(right).rank() != 2) return std::nullopt;
    if (dry) return node.results[0];
    return add(Op::matmul, {node.operands[0], pooled_weight(right, 1, pool)}, {});
  }

  std::optional<ValueId> of_scaled(const Node& node, const Pool& pool, bool dry) {
    size_t scaled = is_constant(node.operands[1]) ? 0 : 1;
    if (!is_constant(node.operands[1 - scaled]) || (node.op == Op::div && scaled == 1)) return std::nullopt;
    if (node.op == Op::div && node.attributes.text("rounding") != "none") return std::nullopt;
    if (graph_.type(node.operands[scaled]).shape != graph_.type(node.results[0]).shape) return std::nullopt;
    auto inner = pooled(node.operands[scaled], pool, dry);
    if (!inner || dry) return inner;
    std::vector<ValueId> operands = node.operands;
    operands[scaled] = *inner;
    return add(node.op, std::move(operands), node.attributes);
  }

  // Plus or minus a parameter along the features.
  std::optional<ValueId> of_shifted(const Node& node, const Pool& pool, bool dry) {
    const Shape& shape = graph_.type(node.results[0]).shape;
    size_t made = is_weight(node.operands[1]) ? 0 : 1;
    ValueId shift = node.operands[1 - made];
    if (!is_weight(shift) || graph_.type(shift).shape != Shape{shape.back()} ||
        graph_.type(node.operands[made]).shape != shape)
      return std::nullopt;
    auto inner = pooled(node.operands[made], pool, dry);
    if (!inner || dry) return inner;
    std::vector<ValueId> operands = node.operands;
    operands[made] = *inner;
    operands[1 - made] = pooled_weight(shift, 0, pool);
    return add(node.op, std::move(operands), node.attributes);
  }

  Graph& graph_;
  std::vector<int32_t> made_by_;
  std::vector<std::vector<int32_t>> used_by_;
  std::string where_, module_;
};

std::optional<Pool> pool_of(const Graph& graph, const Node& node) {
  const Attributes& attributes = node.attributes;
  if (node.op == Op::sum || node.op == Op::mean) {
    const TensorType& type = graph.type(node.operands[0]);
    const auto& dims = attributes.integers("dims");
    bool last = dims.size() == 1 && (dims[0] == -1 || dims[0] == type.rank() - 1);
    if (!last || type.shape.back() < 2 || type.dtype != graph.type(node.results[0]).dtype)
      return std::nullopt;
    return Pool{node.op, type.shape.back()};
  }
  if (node.op != Op::avg_pool) return std::nullopt;
  const auto &kernel = attributes.integers("kernel"), &padding = attributes.integers("padding");
  if (kernel.size() != 1 || kernel[0] < 2 || attributes.integers("stride") != kernel || padding[0] != 0 ||
      attributes.integer("divisor") != 0)
    return std::nullopt;
  return Pool{Op::mean, kernel[0]};
}

}  // namespace

bool pool_weights_of_products(Graph& graph) {
  std::vector<ValueId> replacement;
  auto settle = [&] {
    for (size_t i = replacement.size(); i < graph.values.size(); ++i)
      replacement.push_back(static_cast<ValueId>(i));
  };
  bool changed = false;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node node = graph.nodes[n];
    if (node.operands.empty() || node.results.size() != 1) continue;
    auto pool = pool_of(graph, node);
    if (!pool) continue;
    Rewriter rewriter(graph);
    if (!rewriter.pooled(node.operands[0], *pool, true)) continue;
    size_t end = graph.nodes.size();
    rewriter.stand_for(node);
    ValueId made = *rewriter.pooled(node.operands[0], *pool, false);
    const Shape shape = graph.type(node.results[0]).shape;
    if (graph.type(made).shape != shape) made = rewriter.add(Op::reshape, {made}, {{"shape", shape}});
    // Move the new nodes to the pool's position.
    std::rotate(graph.nodes.begin() + static_cast<std::ptrdiff_t>(n),
                graph.nodes.begin() + static_cast<std::ptrdiff_t>(end), graph.nodes.end());
    n += graph.nodes.size() - end;
    settle();
    replacement[index_of(node.results[0])] = made;
    replace_uses(graph, replacement);
    changed = true;
  }
  if (changed) remove_dead_code(graph);
  return changed;
}

}  // namespace stitch
