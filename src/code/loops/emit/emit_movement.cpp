// Views and movements as index maps; elements that are created, and pointwise ops.
#include <algorithm>
#include <functional>

#include "base/format.h"
#include "code/expression/pointwise.h"
#include "code/loops/emit/emitter.h"

namespace stitch::code::loops {

namespace {

size_t from_start(int64_t dim, size_t rank) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

size_t dimension(const Node& node, size_t rank) {
  return from_start(node.attributes.integer("dim"), std::max<size_t>(rank, 1));
}

// `take` under the condition, otherwise `otherwise`.
Expression guarded(Emitter& emitter, ValueId id, const Expression& condition, const Expression& otherwise,
                   const std::function<Expression()>& take) {
  if (condition.empty()) return take();
  Expression out = emitter.variable(id, otherwise);
  emitter.guard(condition);
  Expression taken = take();
  emitter.add(assign(out, taken));
  emitter.close();
  return out;
}

Indices reshaped(Emitter& emitter, const Indices& at, const Shape& from, const Shape& to) {
  Index flat = flatten(at, to);
  Indices direct = unflatten(flat, from);
  // Without quotients, negative factors do no harm.
  if (std::ranges::none_of(direct, &Index::splits)) return direct;
  return unflatten(emitter.settled(flat, element_count(to)), from);
}

Indices permuted(const Node& node, const Indices& at) {
  const auto& dims = node.attributes.integers("dims");
  Indices from(at.size());
  for (size_t i = 0; i < dims.size(); ++i) from[static_cast<size_t>(dims[i])] = at[i];
  return from;
}

Indices flipped(const Node& node, const Indices& at, const Shape& shape) {
  Indices from = at;
  for (int64_t d : node.attributes.integers("dims")) {
    if (shape.empty()) break;
    size_t dim = from_start(d, shape.size());
    from[dim] = Index(shape[dim] - 1) - from[dim];
  }
  return from;
}

Indices rolled(Emitter& emitter, const Node& node, const Indices& at, const Shape& shape) {
  Indices from = at;
  const auto &dims = node.attributes.integers("dims"), &shifts = node.attributes.integers("shifts");
  for (size_t k = 0; k < dims.size() && !shape.empty(); ++k) {
    size_t dim = from_start(dims[k], shape.size());
    int64_t size = shape[dim], shift = ((shifts[k] % size) + size) % size;
    if (shift) from[dim] = (emitter.settled(from[dim], size) + (size - shift)).modulo(size);
  }
  return from;
}

// The source of an element beyond an edge.
Expression beyond_edges(const std::string& mode, const Expression& i, int64_t size) {
  if (mode == "replicate") return select(i < 0, 0, select(i < size, i, size - 1));
  return select(i < 0, unary(Operator::negate, i), select(i < size, i, Expression(2 * (size - 1)) - i));
}

Expression padded(Emitter& emitter, ValueId id, const Node& node, const Indices& at) {
  const Shape& shape = emitter.graph().type(node.operands[0]).shape;
  const DType dtype = emitter.graph().type(id).dtype;
  const auto& pads = node.attributes.integers("pads");
  const std::string& mode = node.attributes.text("mode");
  const Expression fill = number(node.attributes.number("value"), dtype);
  Indices from = at;
  Expression condition;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t before = pads[2 * d], after = pads[2 * d + 1], size = shape[d];
    if (before == 0 && after == 0) continue;
    from[d] = at[d] - before;
    if (mode == "constant") {
      Range range = within(from[d], 0, size);
      if (range.never) return fill;
      condition = both(condition, range.condition);
    } else if (mode == "circular") {
      from[d] = (emitter.settled(at[d], size + before + after) + (size - before)).modulo(size);
    } else if (from[d].least() < 0 || from[d].most() >= size) {
      from[d] = emitter.declare_index("source", beyond_edges(mode, from[d], size), size);
    }
  }
  const Expression otherwise =
      is_integer(dtype) ? call(format("stitch::wrapped<{}>", stored_type(dtype).name), {fill}) : fill;
  return guarded(emitter, id, condition, otherwise, [&] { return emitter.value(node.operands[0], from); });
}

Expression triangle(Emitter& emitter, ValueId id, const Node& node, const Indices& at) {
  const Shape& shape = emitter.graph().type(node.operands[0]).shape;
  int64_t columns = shape.back(), rows = shape[shape.size() - 2];
  int64_t diagonal = std::clamp(node.attributes.integer("diagonal"), -rows - 1, columns + 1);
  const Expression above = at.back() - at[at.size() - 2];
  return guarded(emitter, id, node.op == Op::tril ? above <= diagonal : above >= diagonal,
                 number(0, emitter.graph().type(id).dtype),
                 [&] { return emitter.value(node.operands[0], at); });
}

// x[a:b, c:d] = v: the rows that are put in are x's own, but for some columns.
bool is_part_of(const Emitter& emitter, ValueId update, ValueId x) {
  const Graph& graph = emitter.graph();
  const int32_t made = emitter.producer_of(update);
  if (made < 0 || graph.node(made).op != Op::update_slice) return false;
  const int32_t from = emitter.producer_of(graph.node(made).operands[0]);
  return from >= 0 && graph.node(from).op == Op::slice && graph.node(from).operands[0] == x;
}

Expression updated(Emitter& emitter, ValueId id, const Node& node, const Indices& at) {
  ValueId x = node.operands[0], update = node.operands[1];
  const Graph& graph = emitter.graph();
  size_t dim = dimension(node, graph.type(x).shape.size());
  int64_t start = node.attributes.integer("start"), step = node.attributes.integer("step");
  int64_t count = graph.type(update).shape[dim];
  if (count == 0) return emitter.value(x, at);
  Range range = within(at[dim], start, start + (count - 1) * step + 1);
  if (range.never) return emitter.value(x, at);
  Index shifted = at[dim] - start;
  if (step > 1) range.condition = both(range.condition, Expression(shifted) % step == 0);
  Indices from = at;
  if (range.condition.empty()) {
    from[dim] = shifted;
    return emitter.value(update, from);
  }
  // Computed in both branches, a chain of such updates would double with each.
  const bool before = is_part_of(emitter, update, x);
  const Expression first = before ? emitter.value(x, at) : number(0, graph.type(id).dtype);
  Expression out = emitter.variable(id, first);
  std::string replaced = emitter.names().unique("replaced");
  emitter.add(define_constant(bool_type, replaced, range.condition));
  emitter.guard(named(replaced));
  from[dim] = step > 1 ? emitter.declare_index("source", Expression(shifted) / step, count) : shifted;
  Expression fresh = emitter.value(update, from);
  emitter.add(assign(out, fresh));
  emitter.close();
  if (before) return out;
  emitter.guard(unary(Operator::logical_not, named(replaced)));
  Expression old = emitter.value(x, at);
  emitter.add(assign(out, old));
  emitter.close();
  return out;
}

}  // namespace

Range within(const Index& index, int64_t low, int64_t high) {
  Range range;
  if (index.most() < low || index.least() >= high) range.never = true;
  if (index.least() < low) range.condition = Expression(index) >= low;
  if (index.most() >= high) range.condition = both(range.condition, Expression(index) < high);
  return range;
}

Expression moved_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at) {
  ValueId x = node.operands[0];
  const Shape &shape = emitter.graph().type(x).shape, &result = emitter.graph().type(id).shape;
  switch (node.op) {
    case Op::reshape: return emitter.value(x, reshaped(emitter, at, shape, result));
    case Op::permute: return emitter.value(x, permuted(node, at));
    case Op::expand: return emitter.value(x, emitter.broadcast_to(x, at));
    case Op::slice: {
      Indices from = at;
      size_t dim = dimension(node, shape.size());
      from[dim] = from[dim] * node.attributes.integer("step") + node.attributes.integer("start");
      return emitter.value(x, from);
    }
    case Op::strided_view: {
      Index flat = position(at, node.attributes.integers("strides")) + node.attributes.integer("offset");
      return emitter.value(x, unflatten(emitter.settled(flat, element_count(shape)), shape));
    }
    case Op::flip: return emitter.value(x, flipped(node, at, shape));
    case Op::roll: return emitter.value(x, rolled(emitter, node, at, shape));
    case Op::pad: return padded(emitter, id, node, at);
    case Op::tril:
    case Op::triu: return triangle(emitter, id, node, at);
    case Op::update_slice: return updated(emitter, id, node, at);
    default: throw Bug(format("no movement: {}", info(node.op).name));
  }
}

// Creation ops.

namespace {

Expression wrapped(DType dtype, Expression x) {
  return call(format("stitch::wrapped<{}>", stored_type(dtype).name), {std::move(x)});
}

Expression full(double value, DType dtype) {
  if (dtype == DType::i8 || dtype == DType::u8) return wrapped(dtype, number(value, DType::i64));
  if (dtype == DType::i32 && value <= -0x1p31) return int64_t{INT32_MIN};
  if (dtype == DType::i32 && value >= 0x1p31 - 1) return int64_t{INT32_MAX};
  return number(value, dtype);
}

Expression counted(const Attributes& attributes, DType dtype, const Index& at) {
  double start = attributes.number("start"), step = attributes.number("step");
  bool whole = start == static_cast<double>(static_cast<int64_t>(start)) &&
               step == static_cast<double>(static_cast<int64_t>(step));
  if (!is_floating(dtype) && whole && dtype != DType::boolean) {
    Index value = at * static_cast<int64_t>(step) + static_cast<int64_t>(start);
    return dtype == DType::i64 || dtype == DType::i32 ? Expression(value) : wrapped(dtype, value);
  }
  Expression value = number(start, DType::f64) + number(step, DType::f64) * static_cast_to(double_type, at);
  return converted(value, DType::f64, dtype);
}

Expression drawn(const Attributes& attributes, DType dtype, const Expression& bits) {
  const std::string& kind = attributes.text("distribution");
  double a = attributes.number("a"), b = attributes.number("b");
  if (kind == "bernoulli")
    return converted(call("stitch::random_bernoulli", {number(a, DType::f64), bits}), DType::boolean, dtype);
  if (kind == "integers")
    return converted(call("stitch::random_integer", {number(a, DType::f64), number(b - a, DType::f64), bits}),
                     DType::f64, dtype);
  DType real = dtype == DType::f64 ? DType::f64 : DType::f32;
  Expression value = kind == "uniform"
                         ? call("stitch::random_uniform", {number(a, real), number(b - a, real), bits})
                         : call("stitch::random_normal", {number(a, real), number(b, real), bits});
  return converted(value, real, dtype);
}

}  // namespace

Expression created_element(Emitter& emitter, ValueId id, const Node& node, const Indices& at) {
  const TensorType& type = emitter.graph().type(id);
  if (node.op == Op::full) return full(node.attributes.number("value"), type.dtype);
  if (node.op == Op::iota) return counted(node.attributes, type.dtype, at[0]);
  Expression seed = emitter.value(node.operands[0], {});
  return drawn(
      node.attributes, type.dtype,
      call("stitch::random_bits", {seed, node.attributes.integer("stream"), flatten(at, type.shape)}));
}

// Pointwise ops, from the table of expressions.

Expression pointwise_element(Emitter& emitter, const Node& node, const Indices& at) {
  Expressions operands;
  for (ValueId operand : node.operands)
    operands.push_back(emitter.value(operand, emitter.broadcast_to(operand, at)));
  return pointwise(emitter.graph(), node, operands);
}

}  // namespace stitch::code::loops
