// scatter and index_put seen from their results: each element looks for the sources that name it, in the
// order in which they would be written: among all of them, or in the list of its row (scatter.h).
// Deterministic, and the last one wins where that is what is asked.
#include <algorithm>

#include "base/format.h"
#include "code/loops/ops.h"
#include "code/loops/scatter.h"

namespace stitch::code::loops {

namespace {

// A source that names the element: loops over all of them are open, and a guard that it does.
struct Source {
  Expression value;  // none: there are no sources
  int scopes = 0;    // that are open
};

// The shape that the indices of an index_put have together.
Shape common_shape(const Graph& graph, const Node& node) {
  Shape common;
  for (size_t i = 2; i < node.operands.size(); ++i)
    common = *broadcast(common, graph.type(node.operands[i]).shape);
  return common;
}

// What an index_put's indices say at a place of their common shape, a number for each of `dims`.
Expressions indices_put(Emitter& emitter, const Node& node, const Indices& place) {
  const Shape& shape = emitter.graph().type(node.operands[0]).shape;
  const auto& dims = node.attributes.integers("dims");
  Expressions out;
  for (size_t i = 0; i < dims.size(); ++i) {
    Expression found = emitter.value(node.operands[i + 2], emitter.broadcast_to(node.operands[i + 2], place));
    out.push_back(call("stitch::index_from_start", {found, shape[static_cast<size_t>(dims[i])]}));
  }
  return out;
}

size_t scattered_dim(const Graph& graph, const Node& node) {
  const int64_t dim = node.attributes.integer("dim"), rank = std::ssize(graph.type(node.operands[0]).shape);
  return static_cast<size_t>(dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim);
}

// The sources in the list of a row: a loop over it is open. Returns the source's number.
Index open_list(Emitter& emitter, const Index& row, int64_t sources) {
  const Index start = emitter.declare_index("list_start", element("list_starts", row), sources);
  const Index k = emitter.open_loop("k", start, Expression(start) + element("list_counts", row), 1, sources);
  return emitter.declare_index("number", element("list_order", k), sources);
}

Source source_of_put(Emitter& emitter, const Node& node, const Indices& at) {
  const Graph& graph = emitter.graph();
  const Shape& shape = graph.type(node.operands[0]).shape;
  const auto& dims = node.attributes.integers("dims");
  const Shape common = common_shape(graph, node);
  if (element_count(common) == 0) return {};
  Source out;
  Indices place;
  if (emitter.grouped_sources) {
    Indices named_by;
    Shape extents;
    for (int64_t dim : dims) {
      named_by.push_back(at[static_cast<size_t>(dim)]);
      extents.push_back(shape[static_cast<size_t>(dim)]);
    }
    place = unflatten(open_list(emitter, flatten(named_by, extents), element_count(common)), common);
    out.scopes = 1;
  } else {
    for (int64_t size : common) place.push_back(emitter.open_loop("k", 0, size, 1, size));
    Expression condition;
    const Expressions found = indices_put(emitter, node, place);
    for (size_t i = 0; i < dims.size(); ++i)
      condition = both(condition, found[i] == Expression(at[static_cast<size_t>(dims[i])]));
    emitter.guard(condition);
    out.scopes = static_cast<int>(common.size()) + 1;
  }
  // The place of this source in the indexed shape: the common part, and the dimensions that aren't indexed.
  bool neighbours = dims.back() - dims.front() + 1 == std::ssize(dims);
  Indices from;
  if (!neighbours) from = place;
  for (int64_t d = 0; d < std::ssize(shape); ++d) {
    if (neighbours && d == dims.front()) from.insert(from.end(), place.begin(), place.end());
    if (std::ranges::find(dims, d) == dims.end()) from.push_back(at[static_cast<size_t>(d)]);
  }
  out.value = emitter.value(node.operands[1], emitter.broadcast_to(node.operands[1], from));
  return out;
}

Source source_of_scatter(Emitter& emitter, const Node& node, const Indices& at) {
  const Graph& graph = emitter.graph();
  const Shape &shape = graph.type(node.operands[0]).shape, &indexed = graph.type(node.operands[1]).shape;
  if (element_count(indexed) == 0) return {};
  const size_t dim = scattered_dim(graph, node);
  Source out;
  Indices from = at;
  Expression inside;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != dim && indexed[i] < shape[i]) inside = both(inside, at[i] < indexed[i]);
  if (!inside.empty()) emitter.guard(inside), ++out.scopes;
  if (emitter.grouped_sources) {
    const SourceLists lists = *source_lists(graph, node);
    const Index number = open_list(emitter, lists.by_row ? at[dim] : flatten(at, shape), lists.sources);
    from[dim] = lists.by_row ? number : unflatten(number, indexed)[dim];
    ++out.scopes;
  } else {
    if (!shape.empty()) {
      from[dim] = emitter.open_loop("k", 0, indexed[dim], 1, indexed[dim]);
      ++out.scopes;
    }
    Expression found = emitter.value(node.operands[1], from);
    emitter.guard(shape.empty() ? number(1, DType::boolean)
                                : call("stitch::checked_index", {found, shape[dim]}) == Expression(at[dim]));
    ++out.scopes;
  }
  out.value = emitter.value(node.operands[2], from);
  return out;
}

// An index that is the same along all dimensions but one: an expanded vector.
bool varies_along_alone(const Graph& graph, ValueId index, size_t dim) {
  const Shape& shape = graph.type(index).shape;
  auto alone = [&](const Shape& of) {
    const size_t missing = shape.size() - of.size();
    for (size_t d = 0; d < of.size(); ++d)
      if (d + missing != dim && of[d] != 1) return false;
    return true;
  };
  if (alone(shape)) return true;
  for (const Node& node : graph.nodes)
    if (node.results[0] == index && node.op == Op::expand) return alone(graph.type(node.operands[0]).shape);
  return false;
}

Expression combined(const std::string& reduce, DType dtype, const Expression& a, const Expression& b) {
  const bool product = reduce == "prod";
  if (reduce == "none") return b;
  if (reduce == "amax" || reduce == "amin")
    return call(reduce == "amax" ? "stitch::maximum" : "stitch::minimum", {a, b});
  if (is_floating(dtype)) return product ? a * b : a + b;
  if (dtype == DType::boolean) return product ? both(a, b) : either(a, b);
  return call(format("stitch::wrapped_{}<{}>", product ? "mul" : "add", stored_type(dtype).name), {a, b});
}

}  // namespace

std::optional<SourceLists> source_lists(const Graph& graph, const Node& node) {
  constexpr int64_t few = 32, most = (int64_t{1} << 31) - (int64_t{1} << 20);
  const Shape& shape = graph.type(node.operands[0]).shape;
  SourceLists out;
  if (node.op == Op::index_put) {
    out.sources = element_count(common_shape(graph, node));
    out.rows = 1;
    for (int64_t dim : node.attributes.integers("dims")) out.rows *= shape[static_cast<size_t>(dim)];
  } else if (!shape.empty()) {
    const Shape& indexed = graph.type(node.operands[1]).shape;
    const size_t dim = scattered_dim(graph, node);
    out.by_row = varies_along_alone(graph, node.operands[1], dim);
    out.sources = out.by_row ? indexed[dim] : element_count(indexed);
    out.rows = out.by_row ? shape[dim] : element_count(shape);
    if (indexed[dim] <= few) return std::nullopt;
  }
  if (out.sources <= few || out.sources > most || out.rows > most || element_count(shape) == 0)
    return std::nullopt;
  return out;
}

Expression target_of_source(Emitter& emitter, const Node& node, const Index& source) {
  const Graph& graph = emitter.graph();
  const Shape& shape = graph.type(node.operands[0]).shape;
  Expression inside, row;
  if (node.op == Op::index_put) {
    const auto& dims = node.attributes.integers("dims");
    const Expressions found = indices_put(emitter, node, unflatten(source, common_shape(graph, node)));
    for (size_t i = 0; i < dims.size(); ++i) {
      const int64_t extent = shape[static_cast<size_t>(dims[i])];
      inside = both(inside, both(found[i] >= 0, found[i] < extent));
      row = row.empty() ? found[i] : row * extent + found[i];
    }
  } else {
    const Shape& indexed = graph.type(node.operands[1]).shape;
    const size_t dim = scattered_dim(graph, node);
    const bool by_row = source_lists(graph, node)->by_row;
    Indices at(shape.size());
    if (by_row)
      at[dim] = source;
    else
      at = unflatten(source, indexed);
    row = emitter.value(node.operands[1], at);
    inside = both(row >= 0, row < shape[dim]);
    if (!by_row) {
      const std::vector<int64_t> strides = contiguous_strides(shape);
      at[dim] = 0;
      row = Expression(position(at, strides)) + row * strides[dim];
    }
  }
  return select(inside, static_cast_to(int_type, row), -1);
}

Expression scattered_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at) {
  const bool put = node.op == Op::index_put;
  const DType dtype = emitter.graph().type(id).dtype;
  const Attributes& attributes = node.attributes;
  const std::string reduce =
      put ? (attributes.flag("accumulate") ? "sum" : "none") : attributes.text("reduce");
  const bool include_self = put || reduce == "none" || attributes.flag("include_self");
  const Type type = emitter.type_of(id);
  const Expression out = emitter.variable(id, emitter.value(node.operands[0], at));
  Expression count;
  if (!include_self || reduce == "mean") {
    count = named(emitter.names().unique("sources"));
    emitter.add(define_variable(int_type, count->name, 0));
  }
  Source source = put ? source_of_put(emitter, node, at) : source_of_scatter(emitter, node, at);
  if (source.value.empty()) return out;
  Expression joined = combined(reduce, dtype, out, source.value);
  emitter.add(assign(out, include_self ? joined : select(count == 0, source.value, joined)));
  if (!count.empty()) emitter.add(assign(count, 1, Operator::add));
  for (; source.scopes > 0; --source.scopes) emitter.close();
  if (reduce == "mean") {
    Expression number = include_self ? count + 1 : count;
    Expression mean = is_floating(dtype)
                          ? out / static_cast_to(type, number)
                          : static_cast_to(type, call("stitch::integer_floor_divide", {out, number}));
    emitter.add(only_if(count > 0, assign(out, mean)));
  }
  return out;
}

}  // namespace stitch::code::loops
