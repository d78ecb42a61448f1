// Creation ops.
#include "base/format.h"
#include "code/expression/pointwise.h"
#include "code/loops/ops.h"

namespace stitch::code::loops {

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

}  // namespace stitch::code::loops
