#include "code/loops/reduction.h"

#include <algorithm>
#include <map>

#include "base/format.h"

namespace stitch::code::loops {

namespace {

size_t reduced_dimension(int64_t dim, size_t rank) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(std::max<size_t>(rank, 1)) : dim);
}

bool all_ones(const std::vector<int64_t>& size) {
  return std::ranges::all_of(size, [](int64_t each) { return each == 1; });
}

}  // namespace

std::optional<Reduction> reduction_of(const Graph& graph, int32_t number) {
  const Node& node = graph.node(number);
  const Attributes& attributes = node.attributes;
  if (node.operands.empty()) return std::nullopt;
  const Shape& shape = graph.type(node.operands[0]).shape;
  size_t rank = shape.size();
  Reduction out{number, node.operands[0], shape, std::vector<bool>(rank, false)};
  switch (node.op) {
    case Op::softmax:
    case Op::log_softmax:
      if (rank) out.along[reduced_dimension(attributes.integer("dim"), rank)] = true;
      return out;
    case Op::layer_norm:
    case Op::rms_norm:
      for (size_t d = rank - static_cast<size_t>(attributes.integer("dims")); d < rank; ++d)
        out.along[d] = true;
      return out;
    case Op::group_norm: {
      int64_t groups = attributes.integer("groups");
      out.space.erase(out.space.begin() + 1);
      out.space.insert(out.space.begin() + 1, {groups, shape[1] / groups});
      out.along.assign(rank + 1, true);
      out.along[0] = out.along[1] = false;
      out.grouped = true;
      return out;
    }
    case Op::batch_norm:
      if (!attributes.flag("training")) return std::nullopt;
      out.along.assign(rank, true);
      out.along[1] = false;
      return out;
    case Op::adaptive_max_pool:
    case Op::adaptive_avg_pool:
      if (!all_ones(attributes.integers("size")) || node.results.size() > 1) return std::nullopt;
      for (size_t d = 2; d < rank; ++d) out.along[d] = true;
      return out;
    default: break;
  }
  if (info(node.op).family != stitch::Family::reduce) return std::nullopt;
  const auto& dims = attributes.integers("dims");
  if (dims.empty()) out.along.assign(rank, true);
  for (int64_t dim : dims)
    if (rank) out.along[reduced_dimension(dim, rank)] = true;
  return out;
}

int64_t Reduction::length() const { return element_count(reduced_shape()); }
int64_t Reduction::rows() const { return element_count(kept_shape()); }

Shape Reduction::kept_shape() const {
  Shape out;
  for (size_t d = 0; d < space.size(); ++d)
    if (!along[d]) out.push_back(space[d]);
  return out;
}

Shape Reduction::reduced_shape() const {
  Shape out;
  for (size_t d = 0; d < space.size(); ++d)
    if (along[d]) out.push_back(space[d]);
  return out;
}

Indices Reduction::space_at(const Indices& kept, const Indices& reduced) const {
  Indices out;
  size_t next_kept = 0, next_reduced = 0;
  for (size_t d = 0; d < space.size(); ++d)
    out.push_back(along[d] ? reduced[next_reduced++] : kept[next_kept++]);
  return out;
}

Indices Reduction::operand_at(const Indices& at) const {
  if (!grouped) return at;
  Indices out = at;
  out[1] = at[1] * space[2] + at[2];
  out.erase(out.begin() + 2);
  return out;
}

Indices Reduction::kept_of(const Graph& graph, const Indices& at) const {
  if (grouped) return {at[0], at[1].divided_by(space[2])};
  const Node& of = graph.node(node);
  if (of.op == Op::batch_norm) return {at.size() == 1 ? at[0] : at[1]};
  if (at.size() != space.size()) return at;  // reduced dimensions are gone
  if (info(of.op).family == stitch::Family::reduce && !of.attributes.flag("keepdim") && !space.empty() &&
      std::ranges::find(along, true) == along.end())
    return at;
  Indices out;
  for (size_t d = 0; d < at.size(); ++d)
    if (!along[d]) out.push_back(at[d]);
  return out;
}

bool is_expression(const Graph& graph, int32_t number) {
  const Node& node = graph.node(number);
  switch (info(node.op).family) {
    case stitch::Family::pointwise:
    case stitch::Family::view:
    case stitch::Family::movement:
    case stitch::Family::pool:
    case stitch::Family::create: return true;
    case stitch::Family::indexing:
      return node.op == Op::gather || node.op == Op::index || node.op == Op::searchsorted;
    case stitch::Family::normalize: return node.op == Op::batch_norm && !node.attributes.flag("training");
    default: return false;
  }
}

Result<void> accepts_nesting(const Graph& graph, const plan::Region& region) {
  constexpr int64_t most_steps = 1024;
  std::map<ValueId, int64_t> steps;  // operations per element of a value that the region computes
  for (int32_t n : region.nodes) {
    const Node& node = graph.node(n);
    int64_t own = 1;
    for (ValueId operand : node.operands)
      if (auto found = steps.find(operand); found != steps.end()) own = std::max(own, found->second);
    if (auto reduction = reduction_of(graph, n))  // a longer one is a stage of its own, with stored results
      own = reduction->length() > most_inlined ? 1 : own * std::max<int64_t>(reduction->length(), 1);
    if (own > most_steps)
      return work_error("technique", format("{}: reductions inside of reductions take more than {} steps",
                                            region.name, most_steps));
    if (own > 1)
      for (ValueId result : node.results) steps[result] = own;
  }
  return {};
}

}  // namespace stitch::code::loops
