// Pointwise ops of one operand: the result has its shape.
#include <limits>

#include "graph/ops/families.h"

namespace stitch::ops {

namespace {

Result<ResultTypes> same_floating(OperandTypes in, const Attributes&) {
  STITCH_CHECK(need_floating(*in[0], "the operand"));
  return ResultTypes{{in[0]->dtype, in[0]->shape, {}}};
}

Result<ResultTypes> same_number(OperandTypes in, const Attributes&) {
  if (in[0]->dtype == DType::boolean) return ill("the operand must be a number, not bool");
  return ResultTypes{{in[0]->dtype, in[0]->shape, {}}};
}

Result<ResultTypes> to_boolean(OperandTypes in, const Attributes&) {
  return ResultTypes{{DType::boolean, in[0]->shape, {}}};
}

Result<ResultTypes> infer_logical_not(OperandTypes in, const Attributes& attributes) {
  if (in[0]->dtype != DType::boolean) return ill("the operand must be bool");
  return to_boolean(in, attributes);
}

Result<ResultTypes> infer_bitwise_not(OperandTypes in, const Attributes&) {
  STITCH_CHECK(need_integer(*in[0], "the operand"));
  return ResultTypes{{in[0]->dtype, in[0]->shape, {}}};
}

Result<ResultTypes> infer_cast(OperandTypes in, const Attributes& attributes) {
  return ResultTypes{{attributes.dtype("dtype"), in[0]->shape, {}}};
}

Result<ResultTypes> infer_gelu(OperandTypes in, const Attributes& attributes) {
  const std::string& form = attributes.text("approximate");
  if (form != "none" && form != "tanh")
    return ill(format("gelu's approximate is \"none\" or \"tanh\", not \"{}\"", form));
  return same_floating(in, attributes);
}

OpInfo floating(Op op, std::string_view name, std::string_view doc,
                std::vector<AttributeSpec> attributes = {}) {
  return {op, name, Family::pointwise, doc, {{"x"}}, std::move(attributes), same_floating, per_result};
}

OpInfo number(Op op, std::string_view name, std::string_view doc,
              std::vector<AttributeSpec> attributes = {}) {
  return {op, name, Family::pointwise, doc, {{"x"}}, std::move(attributes), same_number, per_result};
}

}  // namespace

std::vector<OpInfo> unary() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  return {
      number(Op::neg, "neg", "-x"),
      number(Op::abs, "abs", "|x|"),
      number(Op::sign, "sign", "-1, 0 or 1; 0 for NaN"),
      floating(Op::exp, "exp", "e^x"),
      floating(Op::expm1, "expm1", "e^x - 1"),
      floating(Op::log, "log", "natural logarithm"),
      floating(Op::log1p, "log1p", "log(1 + x)"),
      floating(Op::sqrt, "sqrt", "square root"),
      floating(Op::rsqrt, "rsqrt", "1 / sqrt(x)"),
      floating(Op::reciprocal, "reciprocal", "1 / x"),
      floating(Op::sin, "sin", "sine"),
      floating(Op::cos, "cos", "cosine"),
      floating(Op::tan, "tan", "tangent"),
      floating(Op::asin, "asin", "inverse sine"),
      floating(Op::acos, "acos", "inverse cosine"),
      floating(Op::atan, "atan", "inverse tangent"),
      floating(Op::sinh, "sinh", "hyperbolic sine"),
      floating(Op::cosh, "cosh", "hyperbolic cosine"),
      floating(Op::tanh, "tanh", "hyperbolic tangent"),
      floating(Op::asinh, "asinh", "inverse hyperbolic sine"),
      floating(Op::acosh, "acosh", "inverse hyperbolic cosine"),
      floating(Op::atanh, "atanh", "inverse hyperbolic tangent"),
      floating(Op::sigmoid, "sigmoid", "1 / (1 + e^-x)"),
      floating(Op::erf, "erf", "error function"),
      floating(Op::erfc, "erfc", "1 - erf(x), exact where erf(x) is near 1"),
      floating(Op::erfinv, "erfinv", "inverse of erf: infinite at -1 and 1, NaN beyond"),
      floating(Op::lgamma, "lgamma", "log |Gamma(x)|"),
      floating(Op::digamma, "digamma", "derivative of log Gamma(x); NaN at negative integers"),
      number(Op::floor, "floor", "largest integer not above x"),
      number(Op::ceil, "ceil", "smallest integer not below x"),
      number(Op::round, "round", "nearest integer, halves to even"),
      number(Op::trunc, "trunc", "towards zero"),
      number(Op::relu, "relu", "max(x, 0); NaN stays NaN"),
      {Op::gelu,
       "gelu",
       Family::pointwise,
       "x * Phi(x), or its tanh approximation",
       {{"x"}},
       {{"approximate", std::string("none")}},
       infer_gelu,
       per_result},
      floating(Op::silu, "silu", "x * sigmoid(x)"),
      floating(Op::mish, "mish", "x * tanh(softplus(x))"),
      floating(Op::softplus, "softplus", "log(1 + e^(beta x)) / beta; x itself where beta x > threshold",
               {{"beta", 1.0}, {"threshold", 20.0}}),
      floating(Op::elu, "elu", "scale * (x > 0 ? x : alpha * (e^(input_scale x) - 1))",
               {{"alpha", 1.0}, {"scale", 1.0}, {"input_scale", 1.0}}),
      floating(Op::leaky_relu, "leaky_relu", "x > 0 ? x : slope * x", {{"slope", 0.01}}),
      floating(Op::hardsigmoid, "hardsigmoid", "clamp(x / 6 + 1/2, 0, 1)"),
      floating(Op::hardswish, "hardswish", "x * clamp(x + 3, 0, 6) / 6"),
      number(Op::clamp, "clamp", "min(max(x, low), high); NaN stays NaN", {{"low", -inf}, {"high", inf}}),
      {Op::is_nan, "is_nan", Family::pointwise, "x is NaN", {{"x"}}, {}, to_boolean, per_result},
      {Op::is_inf, "is_inf", Family::pointwise, "x is infinite", {{"x"}}, {}, to_boolean, per_result},
      {Op::signbit,
       "signbit",
       Family::pointwise,
       "the sign bit: also of -0 and of a negative NaN",
       {{"x"}},
       {},
       to_boolean,
       per_result},
      {Op::logical_not,
       "logical_not",
       Family::pointwise,
       "not x",
       {{"x"}},
       {},
       infer_logical_not,
       per_result},
      {Op::bitwise_not,
       "bitwise_not",
       Family::pointwise,
       "all bits flipped",
       {{"x"}},
       {},
       infer_bitwise_not,
       per_result},
      {Op::cast,
       "cast",
       Family::pointwise,
       "the same numbers in another dtype; to integers towards zero, to bool != 0",
       {{"x"}},
       {{"dtype", DType::f32, true}},
       infer_cast,
       per_result},
  };
}

}  // namespace stitch::ops
