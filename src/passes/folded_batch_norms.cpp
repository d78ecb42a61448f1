// A batch norm with fixed statistics scales and shifts every filter of the convolution before it:
//   (w · x + b - mean) s + beta   is   (s w) · x + (b - mean) s + beta,   s = gamma / sqrt(variance + eps)
// Both are batch norms of weights alone, in float64. They run when a program is created, so that other
// weights can still be loaded.
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

ValueId optional_operand(const Node& node, size_t i) {
  return i < node.operands.size() ? node.operands[i] : ValueId::none;
}

class BatchNormFolding {
 public:
  explicit BatchNormFolding(Graph& graph) : graph_(graph), makers_(producers(graph)), users_(users(graph)) {}

  bool run() {
    std::map<ValueId, ValueId> replacement;
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      const Node norm = graph_.nodes[n];
      const int32_t maker = norm.op == Op::batch_norm ? makers_[index_of(norm.operands[0])] : -1;
      if (maker < 0) continue;
      const Node product = graph_.node(maker);
      if (folds(product, norm)) replacement[norm.results[0]] = folded(product, norm);
    }
    if (replacement.empty()) return false;
    replace_uses(graph_, replacement);
    return true;
  }

 private:
  // A weight that the forward pass doesn't change.
  bool is_fixed(ValueId id) const {
    const bool updated = std::ranges::find(graph_.updates, id, &Update::target) != graph_.updates.end();
    return id == ValueId::none || (graph_[id].has_data() && !updated);
  }
  bool has_one_use(ValueId id) const {
    return users_[index_of(id)].size() == 1 &&
           std::ranges::find(graph_.outputs, id) == graph_.outputs.end() &&
           std::ranges::find(graph_.updates, id, &Update::value) == graph_.updates.end();
  }
  bool folds(const Node& product, const Node& norm) const {
    const bool has_filters =
        product.op == Op::conv ||
        (product.op == Op::conv_transpose && product.attributes.integer("groups") == 1) ||
        (product.op == Op::linear && graph_.type(product.results[0]).rank() == 2);
    if (!has_filters || norm.attributes.flag("training") || !has_one_use(product.results[0])) return false;
    for (const Node* node : {&product, &norm})
      for (size_t i = 1; i < node->operands.size(); ++i)
        if (!is_fixed(node->operands[i])) return false;
    return true;
  }

  ValueId folded(const Node& product, const Node& norm) {
    Builder builder(graph_, product);
    const std::string name = graph_[norm.results[0]].name;
    const DType dtype = graph_.type(product.results[0]).dtype;
    const ValueId gain = optional_operand(norm, 1), mean = norm.operands[3], variance = norm.operands[4];
    auto doubled = [&](ValueId of, const char* what) {
      return builder.add(Op::cast, {of}, {{"dtype", DType::f64}}, name + what);
    };
    auto reshaped = [&](ValueId of, const Shape& shape, const char* what) {
      return builder.add(Op::reshape, {of}, {{"shape", shape}}, name + what);
    };
    auto zeros = [&](const Shape& shape) {
      return builder.add(Op::full, {}, {{"shape", shape}, {"dtype", DType::f64}, {"value", 0.0}},
                         name + ".zero");
    };
    auto normed = [&](ValueId x, ValueId beta, ValueId centre, const char* what) {
      return builder.add(Op::batch_norm, {x, gain, beta, centre, variance}, norm.attributes, name + what);
    };

    // Filters are along the dimension of the batch norm's channels.
    const Shape shape = graph_.type(product.operands[1]).shape;
    const bool transposed = product.op == Op::conv_transpose;
    const int64_t filters = shape[transposed ? 1 : 0];
    const Shape rows = transposed ? Shape{shape[0], filters, element_count({shape.begin() + 2, shape.end()})}
                                  : Shape{1, filters, element_count({shape.begin() + 1, shape.end()})};
    ValueId weight = reshaped(doubled(product.operands[1], ".filters"), rows, ".rows");
    weight = reshaped(normed(weight, ValueId::none, zeros({filters}), ".scaled"), shape, ".whole");
    weight = builder.add(Op::cast, {weight}, {{"dtype", dtype}}, name + ".weight");

    ValueId bias = optional_operand(product, 2) == ValueId::none
                       ? zeros({1, filters})
                       : reshaped(doubled(product.operands[2], ".offsets"), {1, filters}, ".row");
    bias = reshaped(normed(bias, optional_operand(norm, 2), mean, ".shifted"), {filters}, ".line");
    // The folded bias may exceed fp16, so a convolution's stays FP32.
    const bool narrow = size_of(dtype) < size_of(DType::f32) && product.op != Op::linear;
    bias = builder.add(Op::cast, {bias}, {{"dtype", narrow ? DType::f32 : dtype}}, name + ".bias");
    return builder.add(product.op, {product.operands[0], weight, bias}, product.attributes, name);
  }

  Graph& graph_;
  const std::vector<int32_t> makers_;
  const std::vector<std::vector<int32_t>> users_;
};

}  // namespace

bool fold_batch_norms(Graph& graph) { return BatchNormFolding(graph).run(); }

}  // namespace stitch
