#include "plan/regions/channels.h"

#include <algorithm>
#include <optional>

namespace stitch::plan {

namespace {

// Where dimension `dim` of `from` is in `to`, a reshape of it: nothing if it was cut or joined.
std::optional<size_t> reshaped_dim(const Shape& from, const Shape& to, size_t dim) {
  const int64_t before = element_count({from.begin(), from.begin() + static_cast<std::ptrdiff_t>(dim)});
  int64_t counted = 1;
  for (size_t d = 0; d < to.size(); ++d) {
    if (counted == before && to[d] == from[dim]) return d;
    counted *= to[d];
  }
  return std::nullopt;
}

bool is_last(const Shape& shape, size_t dim) {
  return element_count({shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1, shape.end()}) == 1;
}

bool is_wanted_last(const Graph& graph, const std::vector<std::vector<int32_t>>& used_by, ValueId id,
                    size_t dim, int steps) {
  const std::vector<int32_t>& readers = used_by[index_of(id)];
  if (readers.empty() || steps == 0 || std::ranges::find(graph.outputs, id) != graph.outputs.end())
    return false;
  return std::ranges::all_of(readers, [&](int32_t n) {
    const Node& node = graph.node(n);
    const ValueId result = node.results[0];
    const Shape &from = graph.type(id).shape, &to = graph.type(result).shape;
    if (node.op == Op::permute) {
      const auto& dims = node.attributes.integers("dims");
      const auto at = static_cast<size_t>(std::ranges::find(dims, static_cast<int64_t>(dim)) - dims.begin());
      return is_last(to, at) || is_wanted_last(graph, used_by, result, at, steps - 1);
    }
    if (node.op == Op::reshape) {
      const auto at = reshaped_dim(from, to, dim);
      return at && is_wanted_last(graph, used_by, result, *at, steps - 1);
    }
    return info(node.op).family == Family::pointwise && from == to &&
           is_wanted_last(graph, used_by, result, dim, steps - 1);
  });
}

}  // namespace

bool has_channels_from_last(const Graph& graph, ValueId image) {
  const std::vector<int32_t> makers = producers(graph);
  size_t dim = 1;
  bool moved = false;
  for (ValueId id = image;;) {
    const int32_t maker = makers[index_of(id)];
    const Node* node = maker < 0 ? nullptr : &graph.node(maker);
    if (!node || (node->op != Op::permute && node->op != Op::reshape))
      return moved && is_last(graph.type(id).shape, dim);
    const ValueId from = node->operands[0];
    if (node->op == Op::permute) {
      dim = static_cast<size_t>(node->attributes.integers("dims")[dim]);
      moved = true;
    } else {
      const auto at = reshaped_dim(graph.type(id).shape, graph.type(from).shape, dim);
      if (!at) return false;
      dim = *at;
    }
    id = from;
  }
}

bool is_wanted_channels_last(const Graph& graph, ValueId image) {
  constexpr int far_enough = 8;
  return is_wanted_last(graph, users(graph), image, 1, far_enough);
}

}  // namespace stitch::plan
