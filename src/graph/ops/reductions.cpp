// Reductions over dimensions (an empty list: all), and scans along one.
#include <cmath>
#include <set>

#include "graph/ops/families.h"

namespace stitch::ops {

namespace {

Result<Shape> reduced(const TensorType& x, const Attributes& attributes) {
  bool keep = attributes.flag("keepdim");
  std::set<int64_t> dims;
  for (int64_t dim : attributes.integers("dims")) {
    STITCH_TRY(int64_t d, dimension(dim, x.rank()));
    if (!dims.insert(d).second) return ill(format("dimension {} is named twice", dim));
  }
  Shape shape;
  for (int64_t d = 0; d < x.rank(); ++d) {
    bool gone = dims.empty() || dims.contains(d);
    if (!gone)
      shape.push_back(x.shape[static_cast<size_t>(d)]);
    else if (keep)
      shape.push_back(1);
  }
  return shape;
}

Result<void> need_elements(const TensorType& x, const Attributes& attributes) {
  const auto& dims = attributes.integers("dims");
  if (dims.empty() && x.elements() == 0) return ill("nothing to choose from: the operand is empty");
  for (int64_t dim : dims) {
    STITCH_TRY(int64_t d, dimension(dim, x.rank()));
    if (x.rank() && x.shape[static_cast<size_t>(d)] == 0)
      return ill(format("nothing to choose from: dimension {} is empty", dim));
  }
  return {};
}

Result<ResultTypes> same_dtype(OperandTypes in, const Attributes& attributes) {
  if (in[0]->dtype == DType::boolean) return ill("the operand must be a number, not bool");
  STITCH_TRY(Shape shape, reduced(*in[0], attributes));
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

Result<ResultTypes> floating_only(OperandTypes in, const Attributes& attributes) {
  STITCH_CHECK(need_floating(*in[0], "the operand"));
  return same_dtype(in, attributes);
}

Result<ResultTypes> infer_norm(OperandTypes in, const Attributes& attributes) {
  double order = attributes.number("order");
  // The maximum of no elements is undefined.
  if (order < 0 || std::isinf(order)) STITCH_CHECK(need_elements(*in[0], attributes));
  return floating_only(in, attributes);
}

Result<ResultTypes> extreme(OperandTypes in, const Attributes& attributes) {
  STITCH_CHECK(need_elements(*in[0], attributes));
  STITCH_TRY(Shape shape, reduced(*in[0], attributes));
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

Result<ResultTypes> position(OperandTypes in, const Attributes& attributes) {
  STITCH_CHECK(need_elements(*in[0], attributes));
  if (attributes.integers("dims").size() > 1)
    return ill("a position is along one dimension, or over all of them");
  STITCH_TRY(Shape shape, reduced(*in[0], attributes));
  return ResultTypes{{DType::i64, std::move(shape), {}}};
}

Result<ResultTypes> boolean_only(OperandTypes in, const Attributes& attributes) {
  if (in[0]->dtype != DType::boolean) return ill("the operand must be bool");
  STITCH_TRY(Shape shape, reduced(*in[0], attributes));
  return ResultTypes{{DType::boolean, std::move(shape), {}}};
}

using InferReduction = Result<ResultTypes> (*)(OperandTypes, const Attributes&);

OpInfo reduction(Op op, std::string_view name, std::string_view doc, InferReduction infer,
                 std::vector<AttributeSpec> more = {}) {
  std::vector<AttributeSpec> attributes = {{"dims", std::vector<int64_t>{}}, {"keepdim", false}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return {op, name, Family::reduce, doc, {{"x"}}, std::move(attributes), infer, per_operand};
}

Result<ResultTypes> infer_scan(OperandTypes in, const Attributes& attributes) {
  STITCH_CHECK(dimension(attributes.integer("dim"), in[0]->rank()));
  if (in[0]->dtype == DType::boolean) return ill("the operand must be a number, not bool");
  return ResultTypes{{in[0]->dtype, in[0]->shape, {}}};
}

Result<ResultTypes> infer_scan_with_position(OperandTypes in, const Attributes& attributes) {
  STITCH_TRY(ResultTypes types, infer_scan(in, attributes));
  types.push_back({DType::i64, in[0]->shape, {}});
  return types;
}

Result<ResultTypes> infer_floating_scan(OperandTypes in, const Attributes& attributes) {
  STITCH_CHECK(need_floating(*in[0], "the operand"));
  return infer_scan(in, attributes);
}

OpInfo scan(Op op, std::string_view name, std::string_view doc, InferReduction infer) {
  return {op, name, Family::scan, doc, {{"x"}}, {{"dim", int64_t{0}, true}}, infer, per_operand};
}

}  // namespace

std::vector<OpInfo> reductions() {
  return {
      reduction(Op::sum, "sum", "sum", same_dtype),
      reduction(Op::mean, "mean", "sum divided by the count", floating_only),
      reduction(Op::prod, "prod", "product", same_dtype),
      reduction(Op::amax, "amax", "largest element; NaN if there is one", extreme),
      reduction(Op::amin, "amin", "smallest element; NaN if there is one", extreme),
      reduction(Op::any, "any", "is any true", boolean_only),
      reduction(Op::all, "all", "are all true", boolean_only),
      reduction(Op::argmax, "argmax", "position of the first largest element; the first NaN wins", position),
      reduction(Op::argmin, "argmin", "position of the first smallest element; the first NaN wins", position),
      reduction(Op::logsumexp, "logsumexp", "log(sum(e^x)), without overflow", floating_only),
      reduction(Op::norm, "norm", "(sum |x|^order)^(1/order); inf: largest |x|, 0: count of non-zeros",
                infer_norm, {{"order", 2.0}}),
      reduction(Op::var, "var", "sum((x - mean)^2) / (count - correction)", floating_only,
                {{"correction", 1.0}}),
  };
}

std::vector<OpInfo> scans() {
  return {
      scan(Op::cumsum, "cumsum", "running sum along dim", infer_scan),
      scan(Op::cumprod, "cumprod", "running product along dim", infer_scan),
      scan(Op::cummax, "cummax", "running maximum along dim, and the latest position it came from",
           infer_scan_with_position),
      scan(Op::cummin, "cummin", "running minimum along dim, and the latest position it came from",
           infer_scan_with_position),
      scan(Op::logcumsumexp, "logcumsumexp", "running log(sum(e^x)) along dim", infer_floating_scan),
  };
}

}  // namespace stitch::ops
