// Views: no cost unless a copy is made.
#include <set>

#include "graph/ops/families.h"

namespace stitch::ops {

namespace {

Result<ResultTypes> infer_reshape(OperandTypes in, const Attributes& attributes) {
  const Shape& shape = attributes.integers("shape");
  STITCH_CHECK(need_fit(shape));
  if (element_count(shape) != in[0]->elements())
    return ill(format("{} can't become {}", text(in[0]->shape), text(shape)));
  return ResultTypes{{in[0]->dtype, shape, {}}};
}

Result<ResultTypes> infer_permute(OperandTypes in, const Attributes& attributes) {
  const auto& dims = attributes.integers("dims");
  std::set<int64_t> seen;
  Shape shape;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= in[0]->rank() || !seen.insert(dim).second)
      return ill(format("{} is no permutation of a tensor of rank {}", text(dims), in[0]->rank()));
    shape.push_back(in[0]->shape[static_cast<size_t>(dim)]);
  }
  if (std::ssize(dims) != in[0]->rank())
    return ill(format("{} is no permutation of a tensor of rank {}", text(dims), in[0]->rank()));
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

Result<ResultTypes> infer_expand(OperandTypes in, const Attributes& attributes) {
  const Shape& shape = attributes.integers("shape");
  STITCH_CHECK(need_fit(shape));
  auto together = broadcast(in[0]->shape, shape);
  if (!together || *together != shape)
    return ill(format("{} doesn't expand to {}", text(in[0]->shape), text(shape)));
  return ResultTypes{{in[0]->dtype, shape, {}}};
}

Result<ResultTypes> infer_slice(OperandTypes in, const Attributes& attributes) {
  if (in[0]->rank() == 0) return ill("a slice of a tensor of rank 0");
  STITCH_TRY(int64_t dim, dimension(attributes.integer("dim"), in[0]->rank()));
  int64_t start = attributes.integer("start"), end = attributes.integer("end"),
          step = attributes.integer("step");
  int64_t size = in[0]->shape[static_cast<size_t>(dim)];
  if (start < 0 || start > end || end > size || step < 1)
    return ill(format("the slice {}:{}:{} of a dimension of {}", start, end, step, size));
  Shape shape = in[0]->shape;
  shape[static_cast<size_t>(dim)] = (end - start) / step + ((end - start) % step != 0);
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

Result<ResultTypes> infer_strided_view(OperandTypes in, const Attributes& attributes) {
  const Shape& shape = attributes.integers("shape");
  const auto& strides = attributes.integers("strides");
  STITCH_CHECK(need_fit(shape));
  int64_t last = attributes.integer("offset"), count = in[0]->elements();
  if (strides.size() != shape.size() || last < 0)
    return ill(format("a view of shape {} with strides {}", text(shape), text(strides)));
  bool empty = element_count(shape) == 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] < 0) return ill("a view's strides are not negative");
    if (shape[i] > 1 && strides[i] > 0 && !empty) {
      if (shape[i] - 1 > count / strides[i])
        last = count;
      else
        last += (shape[i] - 1) * strides[i];
    }
    if (last >= count && !empty)
      return ill(format("a view of shape {} with strides {} reaches past {} elements", text(shape),
                        text(strides), count));
  }
  if (!empty && last >= count) return ill(format("a view at {} reaches past {} elements", last, count));
  return ResultTypes{{in[0]->dtype, shape, {}}};
}

}  // namespace

std::vector<OpInfo> views() {
  AttributeSpec shape{"shape", std::vector<int64_t>{}, true};
  return {
      {Op::reshape,
       "reshape",
       Family::view,
       "the same elements in row-major order under another shape",
       {{"x"}},
       {shape},
       infer_reshape,
       free_of_cost},
      {Op::permute,
       "permute",
       Family::view,
       "result dimension i is operand dimension dims[i]",
       {{"x"}},
       {{"dims", std::vector<int64_t>{}, true}},
       infer_permute,
       free_of_cost},
      {Op::expand,
       "expand",
       Family::view,
       "broadcast to a shape",
       {{"x"}},
       {shape},
       infer_expand,
       free_of_cost},
      {Op::slice,
       "slice",
       Family::view,
       "elements start, start + step, ... below end along dim",
       {{"x"}},
       {{"dim", int64_t{0}, true},
        {"start", int64_t{0}, true},
        {"end", int64_t{0}, true},
        {"step", int64_t{1}}},
       infer_slice,
       free_of_cost},
      {Op::strided_view,
       "strided_view",
       Family::view,
       "element i of result is element offset + i . strides of the row-major operand; may overlap",
       {{"x"}},
       {shape, {"strides", std::vector<int64_t>{}, true}, {"offset", int64_t{0}}},
       infer_strided_view,
       free_of_cost},
  };
}

}  // namespace stitch::ops
