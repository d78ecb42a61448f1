// Ops that move elements without computing on them.
#include <array>

#include "graph/ops/families.h"

namespace stitch::ops {

namespace {

Result<ResultTypes> infer_flip(OperandTypes in, const Attributes& attributes) {
  for (int64_t dim : attributes.integers("dims")) STITCH_CHECK(dimension(dim, in[0]->rank()));
  return ResultTypes{{in[0]->dtype, in[0]->shape, {}}};
}

Result<ResultTypes> infer_roll(OperandTypes in, const Attributes& attributes) {
  if (attributes.integers("dims").size() != attributes.integers("shifts").size())
    return ill("roll has a shift for each dimension");
  return infer_flip(in, attributes);
}

Result<ResultTypes> infer_concat(OperandTypes in, const Attributes& attributes) {
  if (in.empty()) return ill("concat of nothing");
  STITCH_TRY(int64_t dim, dimension(attributes.integer("dim"), in[0]->rank()));
  if (in[0]->rank() == 0) return ill("concat of tensors of rank 0");
  size_t d = static_cast<size_t>(dim);
  Shape shape = in[0]->shape;
  for (const TensorType* type : in.subspan(1)) {
    STITCH_CHECK(need_same_dtype(*in[0], *type, "an operand"));
    Shape other = type->shape;
    if (other.size() != shape.size()) return ill(format("concat of {} and {}", text(shape), text(other)));
    std::swap(other[d], shape[d]);
    if (other != [&] {
          Shape s = shape;
          s[d] = other[d];
          return s;
        }())
      return ill(format("concat along {} of {} and {}", dim, text(in[0]->shape), text(type->shape)));
    shape[d] += other[d];
  }
  STITCH_CHECK(need_fit(shape));
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

Result<ResultTypes> infer_pad(OperandTypes in, const Attributes& attributes) {
  const auto& pads = attributes.integers("pads");
  const std::string& mode = attributes.text("mode");
  if (std::ssize(pads) != 2 * in[0]->rank())
    return ill(format("pads {} of a tensor of rank {}", text(pads), in[0]->rank()));
  if (mode != "constant" && mode != "reflect" && mode != "replicate" && mode != "circular")
    return ill(
        format("pad's mode is \"constant\", \"reflect\", \"replicate\" or \"circular\", not \"{}\"", mode));
  Shape shape = in[0]->shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t before = pads[2 * i], after = pads[2 * i + 1], size = shape[i];
    if (before < 0 || after < 0 || before > int64_t{1} << 48 || after > int64_t{1} << 48)
      return ill("pads are not negative");
    int64_t most = mode == "reflect" ? size - 1 : mode == "circular" ? size : INT64_MAX;
    if (mode == "replicate" && size == 0) most = 0;
    if (before + after > 0 && (before > most || after > most))
      return ill(format("{} padding by {} and {} of a dimension of {}", mode, before, after, size));
    shape[i] += before + after;
  }
  STITCH_CHECK(need_fit(shape));
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

Result<ResultTypes> infer_triangle(OperandTypes in, const Attributes&) {
  if (in[0]->rank() < 2) return ill("a triangle of a tensor of rank below 2");
  return ResultTypes{{in[0]->dtype, in[0]->shape, {}}};
}

Result<ResultTypes> infer_update_slice(OperandTypes in, const Attributes& attributes) {
  const TensorType &x = *in[0], &y = *in[1];
  STITCH_CHECK(need_same_dtype(x, y, "the update"));
  if (x.rank() == 0) return ill("a slice of a tensor of rank 0");
  STITCH_TRY(int64_t dim, dimension(attributes.integer("dim"), x.rank()));
  size_t d = static_cast<size_t>(dim);
  int64_t start = attributes.integer("start"), step = attributes.integer("step"), size = x.shape[d];
  auto wrong = [&] {
    return ill(format("{} can't be written into {} from {} in steps of {} along {}", text(y.shape),
                      text(x.shape), start, step, dim));
  };
  if (y.rank() != x.rank() || start < 0 || step < 1) return wrong();
  for (size_t i = 0; i < x.shape.size(); ++i)
    if (i != d && x.shape[i] != y.shape[i]) return wrong();
  if (y.shape[d] > 0 && (start >= size || (y.shape[d] - 1) > (size - 1 - start) / step)) return wrong();
  return ResultTypes{{x.dtype, x.shape, {}}};
}

}  // namespace

std::vector<OpInfo> movements() {
  std::vector<int64_t> none;
  return {
      {Op::flip,
       "flip",
       Family::movement,
       "reversed along dims",
       {{"x"}},
       {{"dims", none, true}},
       infer_flip,
       only_traffic},
      {Op::roll,
       "roll",
       Family::movement,
       "rotated by shifts along dims",
       {{"x"}},
       {{"shifts", none, true}, {"dims", none, true}},
       infer_roll,
       only_traffic},
      {Op::concat,
       "concat",
       Family::movement,
       "one after the other along dim",
       {{"operands", OperandSpec::variadic}},
       {{"dim", int64_t{0}, true}},
       infer_concat,
       only_traffic},
      {Op::pad,
       "pad",
       Family::movement,
       "pads[2d] before and pads[2d+1] after dimension d",
       {{"x"}},
       {{"pads", none, true}, {"mode", std::string("constant")}, {"value", 0.0}},
       infer_pad,
       only_traffic},
      {Op::tril,
       "tril",
       Family::movement,
       "zero above the diagonal",
       {{"x"}},
       {{"diagonal", int64_t{0}}},
       infer_triangle,
       only_traffic},
      {Op::triu,
       "triu",
       Family::movement,
       "zero below the diagonal",
       {{"x"}},
       {{"diagonal", int64_t{0}}},
       infer_triangle,
       only_traffic},
      {Op::update_slice,
       "update_slice",
       Family::movement,
       "x with the slice start, start + step, ... along dim replaced by y",
       {{"x"}, {"y"}},
       {{"dim", int64_t{0}, true}, {"start", int64_t{0}, true}, {"step", int64_t{1}}},
       infer_update_slice,
       only_traffic},
  };
}

}  // namespace stitch::ops
