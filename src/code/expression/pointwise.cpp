#include "code/expression/pointwise.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"

namespace stitch::code {

namespace {

// One element of a node.
struct Scalar {
  const Node& node;
  DType dtype;   // of the first operand
  DType result;  // of the result
  const Expressions& in;

  const Expression& x() const { return in[0]; }
  Expression attribute(std::string_view name) const { return number(node.attributes.number(name), dtype); }
  Expression zero() const { return number(0, dtype); }
  std::string stored() const { return stored_type(dtype).name; }
};
using Build = Expression (*)(const Scalar&);

// A name as a template argument.
struct Text {
  char characters[32] = {};
  template <size_t size>
  consteval Text(const char (&text)[size]) {
    std::copy_n(text, size, characters);
  }
};

Expression own_call(std::string_view function, Expressions arguments) {
  return call(format("stitch::{}", function), std::move(arguments));
}
// A function of <cmath>, of loops_math.h, or of loops_math.h for integers that wrap to their stored width.
template <Text function>
Expression standard(const Scalar& s) {
  return standard_call(function.characters, s.dtype, s.in);
}
template <Text function>
Expression own(const Scalar& s) {
  return own_call(function.characters, s.in);
}
template <Text function>
Expression wrapping(const Scalar& s) {
  return own_call(format("{}<{}>", function.characters, s.stored()), s.in);
}
Expression wrapped(const Scalar& s, Expression x) {
  return own_call(format("wrapped<{}>", s.stored()), {std::move(x)});
}
template <Text function>
Expression wrapped_after(const Scalar& s) {
  return wrapped(s, own_call(function.characters, s.in));
}
template <Operator op>
Expression prefix(const Scalar& s) {
  return unary(op, s.x());
}
template <Operator op>
Expression infix(const Scalar& s) {
  return binary(op, s.in[0], s.in[1]);
}
Expression itself(const Scalar& s) { return s.x(); }
Expression never(const Scalar&) { return number(0, DType::boolean); }
// Selects one of two operands by a comparison.
template <Operator op>
Expression chosen(const Scalar& s) {
  return select(binary(op, s.in[0], s.in[1]), s.in[0], s.in[1]);
}

Expression negative(const Scalar& s) {
  return own_call(format("wrapped_sub<{}>", s.stored()), {Expression(0), s.x()});
}
Expression clamp_floats(const Scalar& s) {
  return own_call("clamp", {s.x(), s.attribute("low"), s.attribute("high")});
}
Expression clamp_integers(const Scalar& s) {
  auto bound = [&](const char* name) { return number(s.node.attributes.number(name), DType::i64); };
  return wrapped(s, own_call("clamp<int64_t>", {s.x(), bound("low"), bound("high")}));
}
Expression gelu(const Scalar& s) {
  return own_call(s.node.attributes.text("approximate") == "tanh" ? "gelu_tanh" : "gelu", s.in);
}
Expression divide_floats(const Scalar& s) {
  const std::string& rounding = s.node.attributes.text("rounding");
  if (rounding == "floor") return own_call("floor_divide", s.in);
  if (rounding == "trunc") return standard_call("trunc", s.dtype, {s.in[0] / s.in[1]});
  return s.in[0] / s.in[1];
}
Expression divide_integers(const Scalar& s) {
  const bool down = s.node.attributes.text("rounding") == "floor";
  return wrapped(s, own_call(down ? "integer_floor_divide" : "integer_divide", s.in));
}
// Small integer powers are products; powf would use a logarithm.
Expression power(const Scalar& s) {
  if (s.in[1].constant() == 2) return s.x() * s.x();
  if (s.in[1].constant() == 3) return s.x() * s.x() * s.x();
  return standard_call("pow", s.dtype, s.in);
}
Expression cast(const Scalar& s) { return converted(s.x(), s.dtype, s.result); }

struct Row {
  Op op;
  Build floats, integers;  // null: the graph has no such op
};
using enum Operator;
constexpr Row rows[] = {
    {Op::neg, prefix<negate>, negative},
    {Op::abs, standard<"fabs">, [](const Scalar& s) { return select(s.x() < 0, negative(s), s.x()); }},
    {Op::sign, own<"sign">, own<"sign">},
    {Op::exp, standard<"exp">, nullptr},
    {Op::expm1, standard<"expm1">, nullptr},
    {Op::log, standard<"log">, nullptr},
    {Op::log1p, standard<"log1p">, nullptr},
    {Op::sqrt, standard<"sqrt">, nullptr},
    {Op::rsqrt, standard<"rsqrt">, nullptr},
    {Op::reciprocal, [](const Scalar& s) { return number(1, s.dtype) / s.x(); }, nullptr},
    {Op::sin, standard<"sin">, nullptr},
    {Op::cos, standard<"cos">, nullptr},
    {Op::tan, standard<"tan">, nullptr},
    {Op::asin, standard<"asin">, nullptr},
    {Op::acos, standard<"acos">, nullptr},
    {Op::atan, standard<"atan">, nullptr},
    {Op::sinh, standard<"sinh">, nullptr},
    {Op::cosh, standard<"cosh">, nullptr},
    {Op::tanh, standard<"tanh">, nullptr},
    {Op::asinh, standard<"asinh">, nullptr},
    {Op::acosh, standard<"acosh">, nullptr},
    {Op::atanh, standard<"atanh">, nullptr},
    {Op::sigmoid, own<"sigmoid">, nullptr},
    {Op::erf, standard<"erf">, nullptr},
    {Op::erfc, standard<"erfc">, nullptr},
    {Op::erfinv, standard<"erfinv">, nullptr},
    {Op::lgamma, standard<"lgamma">, nullptr},
    {Op::digamma, own<"digamma">, nullptr},
    {Op::floor, standard<"floor">, itself},
    {Op::ceil, standard<"ceil">, itself},
    {Op::round, standard<"rint">, itself},
    {Op::trunc, standard<"trunc">, itself},
    {Op::relu, own<"relu">, [](const Scalar& s) { return select(s.x() < 0, 0, s.x()); }},
    {Op::gelu, gelu, nullptr},
    {Op::silu, own<"silu">, nullptr},
    {Op::mish, own<"mish">, nullptr},
    {Op::softplus,
     [](const Scalar& s) {
       return own_call("softplus", {s.x(), s.attribute("beta"), s.attribute("threshold")});
     },
     nullptr},
    {Op::elu,
     [](const Scalar& s) {
       return own_call("elu",
                       {s.x(), s.attribute("alpha"), s.attribute("scale"), s.attribute("input_scale")});
     },
     nullptr},
    {Op::leaky_relu,
     [](const Scalar& s) { return select(s.x() > s.zero(), s.x(), s.attribute("slope") * s.x()); }, nullptr},
    {Op::hardsigmoid, own<"hardsigmoid">, nullptr},
    {Op::hardswish, own<"hardswish">, nullptr},
    {Op::clamp, clamp_floats, clamp_integers},
    {Op::is_nan, [](const Scalar& s) { return s.x() != s.x(); }, never},
    {Op::is_inf,
     [](const Scalar& s) { return standard_call("fabs", s.dtype, s.in) == number(INFINITY, s.dtype); },
     never},
    {Op::signbit, own<"has_sign_bit">, [](const Scalar& s) { return s.x() < 0; }},
    {Op::logical_not, nullptr, prefix<logical_not>},
    {Op::bitwise_not, nullptr,
     [](const Scalar& s) { return wrapped(s, unary(bitwise_not, call("int64_t", s.in))); }},
    {Op::cast, cast, cast},

    {Op::add, infix<add>, wrapping<"wrapped_add">},
    {Op::sub, infix<subtract>, wrapping<"wrapped_sub">},
    {Op::mul, infix<multiply>, wrapping<"wrapped_mul">},
    {Op::div, divide_floats, divide_integers},
    {Op::pow, power, wrapped_after<"integer_power">},
    {Op::fmod, standard<"fmod">, wrapped_after<"integer_fmod">},
    {Op::remainder, own<"remainder">, wrapped_after<"integer_remainder">},
    {Op::atan2, standard<"atan2">, nullptr},
    {Op::minimum, own<"minimum">, chosen<less>},
    {Op::maximum, own<"maximum">, chosen<greater>},
    {Op::eq, infix<equal>, infix<equal>},
    {Op::ne, infix<not_equal>, infix<not_equal>},
    {Op::lt, infix<less>, infix<less>},
    {Op::le, infix<less_equal>, infix<less_equal>},
    {Op::gt, infix<greater>, infix<greater>},
    {Op::ge, infix<greater_equal>, infix<greater_equal>},
    {Op::logical_and, nullptr, infix<logical_and>},
    {Op::logical_or, nullptr, infix<logical_or>},
    {Op::logical_xor, nullptr, infix<not_equal>},
    {Op::bitwise_and, nullptr, infix<bitwise_and>},
    {Op::bitwise_or, nullptr, infix<bitwise_or>},
    {Op::bitwise_xor, nullptr, infix<bitwise_xor>},
    {Op::shift_left, nullptr, wrapping<"shifted_left">},
    {Op::shift_right, nullptr, wrapping<"shifted_right">},
    {Op::where, nullptr, [](const Scalar& s) { return select(s.in[0], s.in[1], s.in[2]); }},
};

const Row* row_of(Op op) {
  const auto* found = std::ranges::find(rows, op, &Row::op);
  return found == std::end(rows) ? nullptr : found;
}

}  // namespace

Expression standard_call(const char* function, DType dtype, Expressions arguments) {
  return call(dtype == DType::f64 ? function : std::string(function) + "f", std::move(arguments));
}

Expression converted(const Expression& x, DType from, DType to) {
  if (to == DType::boolean) return from == DType::boolean ? x : x != number(0, from);
  if (is_floating(from) && is_integer(to))
    return own_call(format("to_integer<{}>", stored_type(to).name), {x});
  if (is_integer(to) && from != DType::boolean)
    return from == to ? x : own_call(format("wrapped<{}>", stored_type(to).name), {x});
  return computed_type(from) == computed_type(to) ? x : static_cast_to(computed_type(to), x);
}

bool is_pointwise(Op op) { return row_of(op) != nullptr; }

Expression pointwise(const Graph& graph, const Node& node, const Expressions& operands) {
  const Row* row = row_of(node.op);
  const DType dtype = graph.type(node.operands[0]).dtype;
  const Build build = !row ? nullptr : is_floating(dtype) ? row->floats : row->integers;
  if (!build) throw Bug(format("{} of {}", info(node.op).name, is_floating(dtype) ? "floats" : "integers"));
  return build({node, dtype, graph.type(node.results[0]).dtype, operands});
}

}  // namespace stitch::code
