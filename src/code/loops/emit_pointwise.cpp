// Pointwise ops as C expressions of their operands.
#include <cmath>

#include "base/format.h"
#include "code/loops/emitter.h"

namespace stitch::code::loops {

namespace {

// $ is the operand.
std::string filled(std::string_view form, const std::string& x) {
  std::string out;
  for (char c : form) c == '$' ? void(out += x) : void(out += c);
  return out;
}

std::string unary_float(const Node& node, const std::string& x, DType dtype) {
  const Attributes& attributes = node.attributes;
  auto number = [&](std::string_view name) { return literal(attributes.number(name), dtype); };
  auto call = [&](const char* function) { return format("{}({})", call_of(function, dtype), x); };
  auto own = [&](std::string_view function) { return format("stitch::{}({})", function, x); };
  switch (node.op) {
    case Op::neg: return "-" + x;
    case Op::abs: return call("fabs");
    case Op::sign: return own("sign");
    case Op::exp: return call("exp");
    case Op::expm1: return call("expm1");
    case Op::log: return call("log");
    case Op::log1p: return call("log1p");
    case Op::sqrt: return call("sqrt");
    case Op::rsqrt: return call("rsqrt");
    case Op::reciprocal: return filled(dtype == DType::f64 ? "1.0 / $" : "1.0f / $", x);
    case Op::sin: return call("sin");
    case Op::cos: return call("cos");
    case Op::tan: return call("tan");
    case Op::asin: return call("asin");
    case Op::acos: return call("acos");
    case Op::atan: return call("atan");
    case Op::sinh: return call("sinh");
    case Op::cosh: return call("cosh");
    case Op::tanh: return call("tanh");
    case Op::asinh: return call("asinh");
    case Op::acosh: return call("acosh");
    case Op::atanh: return call("atanh");
    case Op::sigmoid: return own("logistic");
    case Op::erf: return call("erf");
    case Op::erfc: return call("erfc");
    case Op::floor: return call("floor");
    case Op::ceil: return call("ceil");
    case Op::round: return call("rint");
    case Op::trunc: return call("trunc");
    case Op::relu: return own("rectified");
    case Op::gelu: return own(attributes.text("approximate") == "tanh" ? "gelu_by_tanh" : "gelu");
    case Op::silu: return own("swish");
    case Op::mish: return own("mish");
    case Op::softplus: return format("stitch::softplus({}, {}, {})", x, number("beta"), number("threshold"));
    case Op::elu:
      return format("stitch::elu({}, {}, {}, {})", x, number("alpha"), number("scale"),
                    number("input_scale"));
    case Op::leaky_relu: return filled(format("$ > {} ? $ : {} * $", literal(0, dtype), number("slope")), x);
    case Op::hardsigmoid: return own("hardsigmoid");
    case Op::hardswish: return own("hardswish");
    case Op::clamp: return format("stitch::clamped({}, {}, {})", x, number("low"), number("high"));
    case Op::is_nan: return filled("$ != $", x);
    case Op::is_inf: return format("{}({}) == {}", call_of("fabs", dtype), x, literal(INFINITY, dtype));
    default: throw Bug(format("{} of floats", info(node.op).name));
  }
}

std::string unary_integer(const Node& node, const std::string& x, DType dtype) {
  std::string stored = stored_type(dtype);
  switch (node.op) {
    case Op::neg: return format("stitch::wrapped_sub<{}>(0, {})", stored, x);
    case Op::abs: return format("{} < 0 ? stitch::wrapped_sub<{}>(0, {}) : {}", x, stored, x, x);
    case Op::sign: return format("stitch::sign({})", x);
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::trunc: return x;
    case Op::relu: return filled("$ < 0 ? 0 : $", x);
    case Op::clamp:
      return format("stitch::wrapped<{}>(stitch::clamped<int64_t>({}, {}, {}))", stored, x,
                    literal(node.attributes.number("low"), DType::i64),
                    literal(node.attributes.number("high"), DType::i64));
    case Op::is_nan:
    case Op::is_inf: return "false";
    case Op::logical_not: return "!" + x;
    case Op::bitwise_not: return format("stitch::wrapped<{}>(~int64_t({}))", stored, x);
    default: throw Bug(format("{} of integers", info(node.op).name));
  }
}

std::string_view comparison_of(Op op) {
  switch (op) {
    case Op::eq: return "==";
    case Op::ne: return "!=";
    case Op::lt: return "<";
    case Op::le: return "<=";
    case Op::gt: return ">";
    case Op::ge: return ">=";
    default: return {};
  }
}

std::string binary_float(const Node& node, const std::string& a, const std::string& b, DType dtype) {
  const std::string& rounding = node.op == Op::div ? node.attributes.text("rounding") : "";
  switch (node.op) {
    case Op::add: return format("{} + {}", a, b);
    case Op::sub: return format("{} - {}", a, b);
    case Op::mul: return format("{} * {}", a, b);
    case Op::div:
      if (rounding == "floor") return format("stitch::floor_divided({}, {})", a, b);
      if (rounding == "trunc") return format("{}({} / {})", call_of("trunc", dtype), a, b);
      return format("{} / {}", a, b);
    case Op::pow: return format("{}({}, {})", call_of("pow", dtype), a, b);
    case Op::fmod: return format("{}({}, {})", call_of("fmod", dtype), a, b);
    case Op::remainder: return format("stitch::remainder_of({}, {})", a, b);
    case Op::atan2: return format("{}({}, {})", call_of("atan2", dtype), a, b);
    case Op::minimum: return format("stitch::smaller({}, {})", a, b);
    case Op::maximum: return format("stitch::larger({}, {})", a, b);
    default: throw Bug(format("{} of floats", info(node.op).name));
  }
}

std::string binary_integer(const Node& node, const std::string& a, const std::string& b, DType dtype) {
  std::string stored = stored_type(dtype);
  auto wrapped = [&](std::string_view function) {
    return format("stitch::wrapped<{}>(stitch::{}({}, {}))", stored, function, a, b);
  };
  switch (node.op) {
    case Op::add: return format("stitch::wrapped_add<{}>({}, {})", stored, a, b);
    case Op::sub: return format("stitch::wrapped_sub<{}>({}, {})", stored, a, b);
    case Op::mul: return format("stitch::wrapped_mul<{}>({}, {})", stored, a, b);
    case Op::div:
      return wrapped(node.attributes.text("rounding") == "floor" ? "integer_floor_divided"
                                                                 : "integer_quotient");
    case Op::pow: return wrapped("integer_power");
    case Op::fmod: return wrapped("integer_rest");
    case Op::remainder: return wrapped("integer_remainder");
    case Op::minimum: return format("{} < {} ? {} : {}", a, b, a, b);
    case Op::maximum: return format("{} > {} ? {} : {}", a, b, a, b);
    case Op::logical_and: return format("{} && {}", a, b);
    case Op::logical_or: return format("{} || {}", a, b);
    case Op::logical_xor: return format("{} != {}", a, b);
    case Op::bitwise_and: return format("{} & {}", a, b);
    case Op::bitwise_or: return format("{} | {}", a, b);
    case Op::bitwise_xor: return format("{} ^ {}", a, b);
    case Op::shift_left: return format("stitch::shifted_left<{}>({}, {})", stored, a, b);
    case Op::shift_right: return format("stitch::shifted_right<{}>({}, {})", stored, a, b);
    default: throw Bug(format("{} of integers", info(node.op).name));
  }
}

}  // namespace

std::string Emitter::cast(const std::string& text, DType from, DType to) {
  if (to == DType::boolean) return from == DType::boolean ? text : format("{} != {}", text, literal(0, from));
  if (is_floating(from) && is_integer(to)) return format("stitch::to_integer<{}>({})", stored_type(to), text);
  if (is_integer(to)) {
    if (from == DType::boolean) return format("static_cast<{}>({})", computed_type(to), text);
    if (from == to) return text;
    return format("stitch::wrapped<{}>({})", stored_type(to), text);
  }
  if (computed_type(from) == computed_type(to)) return text;
  return format("static_cast<{}>({})", computed_type(to), text);
}

std::string Emitter::pointwise(const Node& node, const Indices& at) {
  DType dtype = graph().type(node.operands[0]).dtype;
  auto operand = [&](size_t i) { return value(node.operands[i], broadcast_to(node.operands[i], at)); };
  if (node.op == Op::cast) return cast(operand(0), dtype, graph().type(node.results[0]).dtype);
  if (node.op == Op::where) {
    std::string condition = operand(0), a = operand(1), b = operand(2);
    return format("{} ? {} : {}", condition, a, b);
  }
  if (info(node.op).operands.size() == 1)
    return is_floating(dtype) ? unary_float(node, operand(0), dtype) : unary_integer(node, operand(0), dtype);
  if (std::string_view sign = comparison_of(node.op); !sign.empty()) {
    std::string a = operand(0), b = operand(1);
    return format("{} {} {}", a, sign, b);
  }
  if (!is_floating(dtype)) {
    std::string a = operand(0), b = operand(1);
    return binary_integer(node, a, b, dtype);
  }
  if (node.op == Op::pow) {
    // Whole small powers are products; powf would go through a logarithm.
    std::optional<double> exponent = constant_of(node.operands[1]);
    if (exponent && (*exponent == 2 || *exponent == 3)) {
      std::string x = operand(0);
      return *exponent == 2 ? format("{} * {}", x, x) : format("{} * {} * {}", x, x, x);
    }
  }
  std::string a = operand(0), b = operand(1);
  return binary_float(node, a, b, dtype);
}

}  // namespace stitch::code::loops
