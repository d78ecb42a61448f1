// gather, index and searchsorted: index maps known at run time.
#include <algorithm>

#include "base/format.h"
#include "code/loops/emit/emitter.h"

namespace stitch::code::loops {

namespace {

Expression gathered(Emitter& emitter, ValueId id, const Node& node, const Indices& at) {
  ValueId x = node.operands[0];
  const Shape& shape = emitter.graph().type(x).shape;
  Expression found = emitter.value(node.operands[1], at);
  if (shape.empty()) return emitter.value(x, {});
  int64_t d = node.attributes.integer("dim");
  size_t dim = static_cast<size_t>(d < 0 ? d + std::ssize(shape) : d);
  Indices from = at;
  from[dim] = emitter.declare_index(emitter.graph()[id].name + "_from",
                                    emitter.checked(found, shape[dim], false), shape[dim]);
  return emitter.value(x, from);
}

// An index that may count from the end, computed where it is loaded, so that it can be used outside inner
// loops.
Index from_start(Emitter& emitter, ValueId index, const Indices& at, int64_t size) {
  Scopes& scopes = emitter.scopes();
  Scopes::Outside outside(scopes, scopes.outermost(at));
  Expression found = emitter.value(index, at);
  if (size <= 1) return 0;
  const Key key = key_of(Key::gathered, index, size, at);
  if (!scopes.find(key))
    scopes.remember(key, emitter.declare_index(emitter.graph()[index].name + "_at",
                                               emitter.checked(found, size, true), size));
  return Index::variable((*scopes.find(key))->name, size);
}

}  // namespace

Expression indexed_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at) {
  if (node.op == Op::gather) return gathered(emitter, id, node, at);
  require(node.op == Op::index, "gather and index are the ops that read at computed places");
  const Graph& graph = emitter.graph();
  ValueId x = node.operands[0];
  const Shape& shape = graph.type(x).shape;
  const auto& dims = node.attributes.integers("dims");
  size_t common = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    common = std::max(common, graph.type(node.operands[i + 1]).shape.size());
  bool neighbours = dims.back() - dims.front() + 1 == std::ssize(dims);
  size_t first = neighbours ? static_cast<size_t>(dims.front()) : 0;
  Indices common_at(at.begin() + static_cast<int64_t>(first),
                    at.begin() + static_cast<int64_t>(first + common));
  Indices from(shape.size());
  size_t next = neighbours ? 0 : common;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (neighbours && d == first) next += common;
    auto listed = std::ranges::find(dims, static_cast<int64_t>(d));
    if (listed == dims.end()) {
      from[d] = at[next++];
      continue;
    }
    ValueId index = node.operands[static_cast<size_t>(listed - dims.begin()) + 1];
    from[d] = from_start(emitter, index, emitter.broadcast_to(index, common_at), shape[d]);
  }
  return emitter.value(x, from);
}

// Binary search for the first element not before the value.
Expression searched_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at) {
  ValueId sorted = node.operands[0], values = node.operands[1];
  const Shape& shape = emitter.graph().type(sorted).shape;
  if (shape.back() == 0) return 0;
  const Expression wanted = emitter.value(values, at);
  const std::string found = emitter.names().unique(emitter.graph()[id].name),
                    left = emitter.names().unique("rest");
  const Expression first = named(found), rest = named(left);
  emitter.add(define_variable(emitter.index_type(), found, 0));
  emitter.add(define_variable(emitter.index_type(), left, shape.back()));
  emitter.scopes().open({While{rest > 0, {}}}, {found, left}, false);
  Indices from(shape.size());
  if (shape.size() > 1) std::copy_n(at.begin(), shape.size() - 1, from.begin());
  from.back() = emitter.declare_index("middle", first + rest / 2, shape.back());
  const Expression each = emitter.value(sorted, from), before = named("before");
  emitter.add(define_constant(
      bool_type, "before",
      unary(Operator::logical_not, node.attributes.flag("right") ? each > wanted : each >= wanted)));
  emitter.add(assign(rest, select(before, rest - rest / 2 - 1, rest / 2)));
  emitter.add(only_if(before, assign(first, Expression(from.back()) + 1)));
  emitter.close();
  return first;
}

}  // namespace stitch::code::loops
