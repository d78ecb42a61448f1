#include "code/products/indexed.h"

#include "code/products/view.h"

namespace stitch::code {

namespace {

// Indices of a view node's operand from those of its result.
Indices operand_indices(const Graph& graph, const Node& node, const Indices& result) {
  const Shape& shape = graph.type(node.operands[0]).shape;
  Indices out(shape.size());
  switch (node.op) {
    case Op::permute:
      for (size_t d = 0; d < out.size(); ++d)
        out[static_cast<size_t>(node.attributes.integers("dims")[d])] = result[d];
      return out;
    case Op::reshape: return unflatten(flatten(result, graph.type(node.results[0]).shape), shape);
    case Op::expand:
      for (size_t d = 0; d < out.size(); ++d)
        if (shape[d] != 1) out[d] = result[d + result.size() - out.size()];
      return out;
    default: {  // slice
      out = result;
      int64_t dim = node.attributes.integer("dim");
      size_t d = static_cast<size_t>(dim < 0 ? dim + std::ssize(shape) : dim);
      out[d] = out[d] * node.attributes.integer("step") + node.attributes.integer("start");
      return out;
    }
  }
}

}  // namespace

std::optional<Indexed> find_indexed(const RegionRequest& request, ValueId value, Indices indices) {
  for (const auto* places : {&request.reads, &request.weights})
    for (const Place& place : *places)
      if (place.value == value) return Indexed{&place, position(indices, place.strides)};
  for (int32_t index : request.region.nodes) {
    const Node& node = request.graph.node(index);
    if (node.results[0] != value || !is_view(node.op)) continue;
    return find_indexed(request, node.operands[0], operand_indices(request.graph, node, indices));
  }
  return std::nullopt;
}

std::optional<Joined> find_joined(const RegionRequest& request, ValueId value, Indices indices,
                                  const char* variable) {
  for (int32_t index : request.region.nodes) {
    const Node& node = request.graph.node(index);
    if (node.results[0] != value || request.find(value)) continue;
    if (is_view(node.op))
      return find_joined(request, node.operands[0], operand_indices(request.graph, node, indices), variable);
    if (node.op != Op::concat || node.operands.size() != 2) continue;
    const int64_t dim = node.attributes.integer("dim");
    const size_t d = static_cast<size_t>(dim < 0 ? dim + std::ssize(indices) : dim);
    const int64_t start = request.graph.type(node.operands[0]).shape[d],
                  rest = request.graph.type(node.operands[1]).shape[d];
    // An empty cache, or nothing appended.
    if (start == 0 || rest == 0)
      return find_joined(request, node.operands[start == 0 ? 1 : 0], std::move(indices), variable);
    if (indices[d] != Index::variable(variable, start + rest)) return std::nullopt;
    auto part = [&](size_t operand, int64_t extent) {
      indices[d] = Index::variable(variable, extent);
      return find_indexed(request, node.operands[operand], indices);
    };
    const auto first = part(0, start), second = part(1, rest);
    if (!first || !second) return std::nullopt;
    return Joined{*first, *second, start};
  }
  auto whole = find_indexed(request, value, std::move(indices));
  if (!whole) return std::nullopt;
  return Joined{*whole, std::nullopt, 0};
}

}  // namespace stitch::code
