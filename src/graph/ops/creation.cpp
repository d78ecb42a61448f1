// Creation ops. Random ones have a seed operand and a stream number.
#include "graph/ops/families.h"

namespace stitch::ops {

namespace {

Result<ResultTypes> infer_given(OperandTypes, const Attributes& attributes) {
  STITCH_CHECK(need_fit(attributes.integers("shape")));
  return ResultTypes{{attributes.dtype("dtype"), attributes.integers("shape"), {}}};
}

Result<ResultTypes> infer_iota(OperandTypes, const Attributes& attributes) {
  Shape shape = {attributes.integer("size")};
  STITCH_CHECK(need_fit(shape));
  return ResultTypes{{attributes.dtype("dtype"), std::move(shape), {}}};
}

Result<ResultTypes> infer_random(OperandTypes in, const Attributes& attributes) {
  if (in[0]->dtype != DType::i64 || in[0]->rank() != 0) return ill("a seed is one i64");
  const std::string& kind = attributes.text("distribution");
  if (kind != "uniform" && kind != "normal" && kind != "bernoulli" && kind != "integers")
    return ill(format(
        "random's distribution is \"uniform\", \"normal\", \"bernoulli\" or \"integers\", not \"{}\"", kind));
  return infer_given(in, attributes);
}

}  // namespace

std::vector<OpInfo> creation() {
  AttributeSpec shape{"shape", std::vector<int64_t>{}, true}, dtype{"dtype", DType::f32, true};
  return {
      {Op::full,
       "full",
       Family::create,
       "one value everywhere",
       {},
       {shape, dtype, {"value", 0.0, true}},
       infer_given,
       only_traffic},
      {Op::iota,
       "iota",
       Family::create,
       "start, start + step, ...",
       {},
       {{"size", int64_t{0}, true}, dtype, {"start", 0.0}, {"step", 1.0}},
       infer_iota,
       only_traffic},
      {Op::random,
       "random",
       Family::create,
       "uniform in [a, b), normal of mean a and deviation b, bernoulli of probability a, integers in [a, b)",
       {{"seed"}},
       {shape,
        dtype,
        {"distribution", std::string(), true},
        {"a", 0.0},
        {"b", 1.0},
        {"stream", int64_t{0}, true}},
       infer_random,
       per_result},
  };
}

}  // namespace stitch::ops
