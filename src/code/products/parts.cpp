#include "code/products/parts.h"

#include <algorithm>
#include <set>

#include "code/expression/pointwise.h"
#include "code/products/matmul/contraction.h"

namespace stitch::code {

Result<Parts> parts_of(const Graph& graph, const plan::Region& region, std::span<const Op> products,
                       bool joins) {
  Parts parts;
  std::set<ValueId> computed;  // depend on the product
  for (int32_t index : region.nodes) {
    const Node& node = graph.node(index);
    if (std::ranges::find(products, node.op) != products.end()) {
      if (parts.product) return not_for(region, "takes one product a region");
      parts.product = &node;
      computed.insert(node.results.begin(), node.results.end());
      continue;
    }
    bool follows =
        std::ranges::any_of(node.operands, [&](ValueId operand) { return computed.contains(operand); });
    if (!follows) {
      if (!is_view(node.op) && node.op != Op::full && !(joins && node.op == Op::concat))
        return not_for(region, format("can't compute {} before its product", info(node.op).name));
      continue;
    }
    bool reorders = node.op == Op::permute || node.op == Op::reshape;
    if (!reorders && !is_pointwise(node.op))
      return not_for(region, format("has no {} behind its product", info(node.op).name));
    if (graph.type(node.results[0]).elements() != graph.type(parts.product->results[0]).elements())
      return not_for(region, format("can't broadcast its product in {}", info(node.op).name));
    parts.after.push_back(&node);
    computed.insert(node.results[0]);
  }
  if (!parts.product) return not_for(region, "has no product to compute");
  parts.result = parts.after.empty() ? parts.product->results[0] : parts.after.back()->results[0];
  const DType product = graph.type(parts.product->results[0]).dtype, last = graph.type(parts.result).dtype;
  if (product != last)
    return not_for(region, format("can't make {} of a product of {}", name(last), name(product)));
  if (!parts.after.empty() && (region.writes.size() != 1 || region.writes[0] != parts.result))
    return not_for(region, "writes only what its last node makes");
  // Products check their views themselves: they can read some that convolutions can't.
  if (info(parts.product->op).family == Family::convolution)
    STITCH_CHECK(accepts_views(graph, region, parts));
  return parts;
}

namespace {

// The strides of the result before `after`, if it has strides.
std::optional<View> strided_result(const Graph& graph, const Parts& parts, View view) {
  for (auto node = parts.after.rbegin(); node != parts.after.rend(); ++node) {
    if ((*node)->op == Op::permute) {
      const auto& dims = (*node)->attributes.integers("dims");
      std::vector<int64_t> inverse(dims.size());
      for (size_t i = 0; i < dims.size(); ++i)
        inverse[static_cast<size_t>(dims[i])] = static_cast<int64_t>(i);
      view = permuted(view, inverse);
    } else if ((*node)->op == Op::reshape) {
      auto other = reshaped(view, graph.type((*node)->operands[0]).shape);
      if (!other) return std::nullopt;
      view = *other;
    }
  }
  return view;
}

}  // namespace

Indices through_view(const Graph& graph, const Node& node, const Indices& operand) {
  const Shape& shape = graph.type(node.results[0]).shape;
  if (element_count(shape) == 0) return Indices(shape.size());
  if (node.op == Op::reshape) return unflatten(flatten(operand, graph.type(node.operands[0]).shape), shape);
  Indices out;
  for (int64_t dim : node.attributes.integers("dims")) out.push_back(operand[static_cast<size_t>(dim)]);
  return out;
}

Result<ResultPlace> result_place(const RegionRequest& request, const Parts& parts) {
  const Place* place = nullptr;
  for (const Place& write : request.writes)
    if (write.value == parts.result) place = &write;
  if (!place) return not_for(request.region, "has no place to write to");
  const Graph& graph = request.graph;
  if (auto view = strided_result(graph, parts, view_of(*place))) return ResultPlace{*view, {}};

  const Shape& shape = graph.type(parts.product->results[0]).shape;
  ResultPlace out{{place, shape, contiguous_strides(shape), 0}, {}};
  out.scatter = [&graph, after = parts.after, shape, strides = place->strides](const Index& position) {
    Indices indices = unflatten(position, shape);
    for (const Node* node : after)
      if (node->op == Op::permute || node->op == Op::reshape) indices = through_view(graph, *node, indices);
    return code::position(indices, strides);
  };
  return out;
}

}  // namespace stitch::code
