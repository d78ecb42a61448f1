// scatter and index_put seen from their results: each element looks for the sources that name it, in the
// order in which they would be written. Deterministic, and the last one wins where that is what is asked.
#include <algorithm>

#include "base/format.h"
#include "code/loops/ops.h"

namespace stitch::code::loops {

namespace {

// A source that names the element: loops over all of them are open, and a guard that it does.
struct Source {
  Expression value;  // none: there are no sources
  int scopes = 0;    // that are open
};

Source source_of_put(Emitter& emitter, const Node& node, const Indices& at) {
  const Graph& graph = emitter.graph();
  const Shape& shape = graph.type(node.operands[0]).shape;
  const auto& dims = node.attributes.integers("dims");
  Shape common;
  for (size_t i = 2; i < node.operands.size(); ++i)
    common = *broadcast(common, graph.type(node.operands[i]).shape);
  if (element_count(common) == 0) return {};
  Indices place;
  for (int64_t size : common) place.push_back(emitter.open_loop("k", 0, size, 1, size));
  Expression condition;
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t dim = static_cast<size_t>(dims[i]);
    Expression found = emitter.value(node.operands[i + 2], emitter.broadcast_to(node.operands[i + 2], place));
    condition = both(condition, call("stitch::index_from_start", {found, shape[dim]}) == Expression(at[dim]));
  }
  emitter.guard(condition);
  // The place of this source in the indexed shape: the common part, and the dimensions that aren't indexed.
  bool neighbours = dims.back() - dims.front() + 1 == std::ssize(dims);
  Indices from;
  if (!neighbours) from = place;
  for (int64_t d = 0; d < std::ssize(shape); ++d) {
    if (neighbours && d == dims.front()) from.insert(from.end(), place.begin(), place.end());
    if (std::ranges::find(dims, d) == dims.end()) from.push_back(at[static_cast<size_t>(d)]);
  }
  return {emitter.value(node.operands[1], emitter.broadcast_to(node.operands[1], from)),
          static_cast<int>(common.size()) + 1};
}

Source source_of_scatter(Emitter& emitter, const Node& node, const Indices& at) {
  const Graph& graph = emitter.graph();
  const Shape &shape = graph.type(node.operands[0]).shape, &indexed = graph.type(node.operands[1]).shape;
  if (element_count(indexed) == 0) return {};
  int64_t d = node.attributes.integer("dim");
  size_t dim = static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(std::max<size_t>(shape.size(), 1)) : d);
  Source out;
  Indices from = at;
  Expression inside;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != dim && indexed[i] < shape[i]) inside = both(inside, at[i] < indexed[i]);
  if (!inside.empty()) emitter.guard(inside), ++out.scopes;
  if (!shape.empty()) {
    from[dim] = emitter.open_loop("k", 0, indexed[dim], 1, indexed[dim]);
    ++out.scopes;
  }
  Expression found = emitter.value(node.operands[1], from);
  emitter.guard(shape.empty() ? number(1, DType::boolean)
                              : call("stitch::checked_index", {found, shape[dim]}) == Expression(at[dim]));
  ++out.scopes;
  out.value = emitter.value(node.operands[2], from);
  return out;
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
