// A bf16 linear layer followed by a scale per feature, as in residual branches with a layer scale:
//   (W x + b) * s   is   (s W) x + s b
// The weights are scaled in float64 when a program is created. What remains after the product is an addition,
// which libraries fuse. Not in fp16, where scales of 1e-6 would underflow; FP32 products have an elementwise
// pass after them anyway.
#include <algorithm>

#include "passes/build.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

class ProductScaling {
 public:
  explicit ProductScaling(Graph& graph) : graph_(graph), makers_(producers(graph)), users_(users(graph)) {}

  bool run() {
    std::map<ValueId, ValueId> replacement;
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      const Node scaling = graph_.nodes[n];
      if (scaling.op != Op::mul) continue;
      for (size_t side : {0u, 1u}) {
        const int32_t maker = makers_[index_of(scaling.operands[side])];
        if (maker < 0) continue;
        const Node product = graph_.node(maker);
        const ValueId scale = scaling.operands[1 - side];
        if (!scales(product, scale)) continue;
        replacement[scaling.results[0]] = scaled(product, scaling, scale);
        break;
      }
    }
    if (replacement.empty()) return false;
    replace_uses(graph_, replacement);
    return true;
  }

 private:
  // A weight that the forward pass doesn't change, or a reshape of one.
  bool is_fixed(ValueId id) const {
    if (id == ValueId::none) return true;
    const int32_t maker = makers_[index_of(id)];
    if (maker >= 0) {
      const Node& node = graph_.node(maker);
      return node.op == Op::reshape && is_fixed(node.operands[0]);
    }
    return graph_[id].has_data() &&
           std::ranges::find(graph_.updates, id, &Update::target) == graph_.updates.end();
  }
  bool scales(const Node& product, ValueId scale) const {
    if (product.op != Op::linear) return false;
    const ValueId own = product.results[0];
    const TensorType &type = graph_.type(own), &by = graph_.type(scale);
    if (type.dtype != DType::bf16 || by.dtype != DType::bf16 || by.shape.empty() || type.shape.empty() ||
        by.shape.back() != type.shape.back() || by.elements() != type.shape.back() ||
        by.rank() > type.rank() || !is_fixed(scale))
      return false;
    for (size_t i = 1; i < product.operands.size(); ++i)
      if (!is_fixed(product.operands[i])) return false;
    return users_[index_of(own)].size() == 1 &&
           std::ranges::find(graph_.outputs, own) == graph_.outputs.end() &&
           std::ranges::find(graph_.updates, own, &Update::value) == graph_.updates.end();
  }

  ValueId scaled(const Node& product, const Node& scaling, ValueId scale) {
    Builder builder(graph_, product);
    const std::string name = graph_[scaling.results[0]].name;
    const DType dtype = graph_.type(product.results[0]).dtype;
    const int64_t features = graph_.type(scale).elements();
    auto cast = [&](ValueId of, DType to, const char* what) {
      return builder.add(Op::cast, {of}, {{"dtype", to}}, name + what);
    };
    const ValueId factors = cast(scale, DType::f64, ".factors");
    auto shaped = [&](const Shape& shape, const char* what) {
      if (graph_.type(factors).shape == shape) return factors;
      return builder.add(Op::reshape, {factors}, {{"shape", shape}}, name + what);
    };
    auto times = [&](ValueId of, ValueId by, const char* what) {
      const ValueId exact = builder.add(Op::mul, {cast(of, DType::f64, ".exact"), by}, {}, name + ".scaled");
      return cast(exact, dtype, what);
    };
    std::vector<ValueId> operands = {product.operands[0],
                                     times(product.operands[1], shaped({features, 1}, ".by_row"), ".weight")};
    if (product.operands.size() > 2 && product.operands[2] != ValueId::none)
      operands.push_back(times(product.operands[2], shaped({features}, ".by_feature"), ".bias"));
    return builder.add(Op::linear, std::move(operands), product.attributes, name);
  }

  Graph& graph_;
  const std::vector<int32_t> makers_;
  const std::vector<std::vector<int32_t>> users_;
};

}  // namespace

bool scale_weights_of_products(Graph& graph) { return ProductScaling(graph).run(); }

}  // namespace stitch
