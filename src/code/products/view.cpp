#include "code/products/view.h"

#include <algorithm>

namespace stitch::code {

bool View::contiguous() const {
  std::vector<int64_t> dense = contiguous_strides(shape);
  if (elements() == 0) return true;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1 && strides[d] != dense[d]) return false;
  return true;
}

View view_of(const Place& place) { return {&place, place.shape, place.strides, 0}; }

View permuted(const View& view, const std::vector<int64_t>& dims) {
  View out{view.place, {}, {}, view.offset};
  for (int64_t dim : dims) {
    out.shape.push_back(view.shape[static_cast<size_t>(dim)]);
    out.strides.push_back(view.strides[static_cast<size_t>(dim)]);
  }
  return out;
}

View expanded(const View& view, const Shape& shape) {
  View out{view.place, shape, std::vector<int64_t>(shape.size(), 0), view.offset};
  size_t shift = shape.size() - view.shape.size();
  for (size_t d = 0; d < view.shape.size(); ++d)
    if (view.shape[d] == shape[d + shift]) out.strides[d + shift] = view.strides[d];
  return out;
}

// Merges runs of dimensions that are contiguous in memory, and splits them anew.
std::optional<View> reshaped(const View& view, const Shape& shape) {
  View out{view.place, shape, contiguous_strides(shape), view.offset};
  if (view.elements() == 0) return out;
  struct Run {
    int64_t extent, stride;
  };
  std::vector<Run> runs;
  for (size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] == 1) continue;
    if (!runs.empty() && runs.back().stride == view.shape[d] * view.strides[d]) {
      runs.back().extent *= view.shape[d];
      runs.back().stride = view.strides[d];
    } else {
      runs.push_back({view.shape[d], view.strides[d]});
    }
  }
  size_t run = runs.size();
  int64_t left = 1, stride = 1;  // of the run being split, from its inner end
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    if (left == 1) {
      if (run == 0) return std::nullopt;
      left = runs[--run].extent;
      stride = runs[run].stride;
    }
    if (left % shape[d] != 0) return std::nullopt;
    out.strides[d] = stride;
    stride *= shape[d];
    left /= shape[d];
  }
  return out;
}

bool is_view(Op op) { return op == Op::permute || op == Op::reshape || op == Op::expand || op == Op::slice; }

std::optional<View> viewed(const Node& node, const View& operand) {
  const Attributes& attributes = node.attributes;
  switch (node.op) {
    case Op::permute: return permuted(operand, attributes.integers("dims"));
    case Op::reshape: return reshaped(operand, attributes.integers("shape"));
    case Op::expand: return expanded(operand, attributes.integers("shape"));
    case Op::slice: {
      View out = operand;
      int64_t dim = attributes.integer("dim");
      if (dim < 0) dim += std::ssize(out.shape);
      size_t d = static_cast<size_t>(dim);
      int64_t start = attributes.integer("start"), end = attributes.integer("end"),
              step = attributes.integer("step");
      out.shape[d] = (end - start) / step + ((end - start) % step != 0);
      out.offset += start * out.strides[d];
      if (out.shape[d] > 1) out.strides[d] *= step;
      return out;
    }
    default: return std::nullopt;
  }
}

std::optional<View> find_view(const RegionRequest& request, ValueId value) {
  for (const auto* places : {&request.reads, &request.weights})
    for (const Place& place : *places)
      if (place.value == value) return view_of(place);
  for (int32_t index : request.region.nodes) {
    const Node& node = request.graph.node(index);
    if (node.results[0] != value || !is_view(node.op)) continue;
    auto operand = find_view(request, node.operands[0]);
    return operand ? viewed(node, *operand) : std::nullopt;
  }
  return std::nullopt;
}

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
