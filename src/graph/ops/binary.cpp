// Pointwise ops of several operands: shapes broadcast, dtypes agree (the importer writes the casts).
#include "graph/ops/families.h"

namespace stitch::ops {

namespace {

Result<Shape> broadcast_all(OperandTypes in) {
  STITCH_CHECK(need_same_dtype(*in[0], *in[1], "the second operand"));
  return broadcast(in[0]->shape, in[1]->shape);
}

Result<ResultTypes> arithmetic(OperandTypes in, const Attributes&) {
  STITCH_TRY(Shape shape, broadcast_all(in));
  if (in[0]->dtype == DType::boolean) return ill("arithmetic on bool");
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

Result<ResultTypes> floating_arithmetic(OperandTypes in, const Attributes& attributes) {
  STITCH_CHECK(need_floating(*in[0], "the first operand"));
  return arithmetic(in, attributes);
}

Result<ResultTypes> infer_div(OperandTypes in, const Attributes& attributes) {
  const std::string& rounding = attributes.text("rounding");
  if (rounding == "none") return floating_arithmetic(in, attributes);
  if (rounding != "floor" && rounding != "trunc")
    return ill(format("div's rounding is \"none\", \"floor\" or \"trunc\", not \"{}\"", rounding));
  return arithmetic(in, attributes);
}

// bool included: minimum is and, maximum is or.
Result<ResultTypes> ordering(OperandTypes in, const Attributes&) {
  STITCH_TRY(Shape shape, broadcast_all(in));
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

Result<ResultTypes> comparison(OperandTypes in, const Attributes&) {
  STITCH_TRY(Shape shape, broadcast_all(in));
  return ResultTypes{{DType::boolean, std::move(shape), {}}};
}

Result<ResultTypes> logical(OperandTypes in, const Attributes&) {
  if (in[0]->dtype != DType::boolean) return ill("logical ops take bool");
  STITCH_TRY(Shape shape, broadcast_all(in));
  return ResultTypes{{DType::boolean, std::move(shape), {}}};
}

Result<ResultTypes> bitwise(OperandTypes in, const Attributes&) {
  STITCH_CHECK(need_integer(*in[0], "the operands"));
  STITCH_TRY(Shape shape, broadcast_all(in));
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

Result<ResultTypes> infer_where(OperandTypes in, const Attributes&) {
  if (in[0]->dtype != DType::boolean) return ill("where's condition must be bool");
  STITCH_CHECK(need_same_dtype(*in[1], *in[2], "where's last operand"));
  STITCH_TRY(Shape values, broadcast(in[1]->shape, in[2]->shape));
  STITCH_TRY(Shape shape, broadcast(in[0]->shape, values));
  return ResultTypes{{in[1]->dtype, std::move(shape), {}}};
}

using Infer = Result<ResultTypes> (*)(OperandTypes, const Attributes&);

OpInfo pair(Op op, std::string_view name, std::string_view doc, Infer infer,
            std::vector<AttributeSpec> attributes = {}) {
  return {op, name, Family::pointwise, doc, {{"a"}, {"b"}}, std::move(attributes), infer, per_result};
}

}  // namespace

std::vector<OpInfo> binary() {
  return {
      pair(Op::add, "add", "a + b", arithmetic),
      pair(Op::sub, "sub", "a - b", arithmetic),
      pair(Op::mul, "mul", "a * b", arithmetic),
      pair(Op::div, "div", "a / b, rounded down or towards zero on request", infer_div,
           {{"rounding", std::string("none")}}),
      pair(Op::pow, "pow", "a to the power of b", arithmetic),
      pair(Op::fmod, "fmod", "remainder with the sign of a", arithmetic),
      pair(Op::remainder, "remainder", "remainder with the sign of b, as Python's %", arithmetic),
      pair(Op::atan2, "atan2", "angle of the point (b, a)", floating_arithmetic),
      pair(Op::minimum, "minimum", "the smaller one; NaN if either is", ordering),
      pair(Op::maximum, "maximum", "the larger one; NaN if either is", ordering),
      pair(Op::eq, "eq", "a == b", comparison),
      pair(Op::ne, "ne", "a != b", comparison),
      pair(Op::lt, "lt", "a < b", comparison),
      pair(Op::le, "le", "a <= b", comparison),
      pair(Op::gt, "gt", "a > b", comparison),
      pair(Op::ge, "ge", "a >= b", comparison),
      pair(Op::logical_and, "logical_and", "a and b", logical),
      pair(Op::logical_or, "logical_or", "a or b", logical),
      pair(Op::logical_xor, "logical_xor", "either a or b", logical),
      pair(Op::bitwise_and, "bitwise_and", "a & b", bitwise),
      pair(Op::bitwise_or, "bitwise_or", "a | b", bitwise),
      pair(Op::bitwise_xor, "bitwise_xor", "a ^ b", bitwise),
      pair(Op::shift_left, "shift_left", "a << b", bitwise),
      pair(Op::shift_right, "shift_right", "a >> b, arithmetic", bitwise),
      {Op::where,
       "where",
       Family::pointwise,
       "condition ? a : b",
       {{"condition"}, {"a"}, {"b"}},
       {},
       infer_where,
       per_result},
  };
}

}  // namespace stitch::ops
