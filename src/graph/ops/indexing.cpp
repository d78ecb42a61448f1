// Gather, scatter and sort.
#include <set>

#include "graph/ops/families.h"

namespace stitch::ops {

namespace {

Result<ResultTypes> infer_gather(OperandTypes in, const Attributes& attributes) {
  const TensorType &x = *in[0], &index = *in[1];
  STITCH_CHECK(need_integer(index, "the index"));
  STITCH_TRY(int64_t dim, dimension(attributes.integer("dim"), x.rank()));
  bool fits = x.rank() == index.rank();
  for (int64_t i = 0; fits && i < x.rank(); ++i)
    fits = i == dim || index.shape[static_cast<size_t>(i)] <= x.shape[static_cast<size_t>(i)];
  if (!fits && index.elements() > 0)
    return ill(format("gather from {} along {} with an index {}", text(x.shape), dim, text(index.shape)));
  return ResultTypes{{x.dtype, index.shape, {}}};
}

Result<ResultTypes> infer_scatter(OperandTypes in, const Attributes& attributes) {
  const TensorType &x = *in[0], &index = *in[1], &source = *in[2];
  STITCH_CHECK(need_integer(index, "the index"));
  STITCH_CHECK(need_same_dtype(x, source, "the source"));
  const std::string& reduce = attributes.text("reduce");
  constexpr std::string_view known[] = {"none", "sum", "prod", "mean", "amax", "amin"};
  if (std::ranges::find(known, reduce) == std::end(known))
    return ill(format("scatter's reduce is none, sum, prod, mean, amax or amin, not \"{}\"", reduce));
  STITCH_TRY(int64_t dim, dimension(attributes.integer("dim"), x.rank()));
  bool fits = x.rank() == index.rank() && x.rank() == source.rank();
  for (int64_t i = 0; fits && i < x.rank(); ++i) {
    size_t d = static_cast<size_t>(i);
    fits = index.shape[d] <= source.shape[d] && (i == dim || index.shape[d] <= x.shape[d]);
  }
  if (!fits && index.elements() > 0)
    return ill(format("scatter of {} into {} along {} with an index {}", text(source.shape), text(x.shape),
                      dim, text(index.shape)));
  return ResultTypes{{x.dtype, x.shape, {}}};
}

// The shape of x[..., indices, ...]: the indices' common shape replaces the indexed dimensions if these are
// adjacent, otherwise it comes first.
Result<Shape> indexed_shape(const TensorType& x, OperandTypes indices, const Attributes& attributes) {
  const auto& dims = attributes.integers("dims");
  if (dims.size() != indices.size() || dims.empty()) return ill("an index for each of dims");
  Shape common;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= x.rank() || (i && dims[i] <= dims[i - 1]))
      return ill(format("indexed dimensions {} of a tensor of rank {}", text(dims), x.rank()));
    STITCH_CHECK(need_integer(*indices[i], "an index"));
    STITCH_TRY(common, broadcast(common, indices[i]->shape));
  }
  bool neighbours = dims.back() - dims.front() + 1 == std::ssize(dims);
  Shape shape;
  if (!neighbours) shape = common;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (neighbours && d == dims.front()) shape.insert(shape.end(), common.begin(), common.end());
    if (std::ranges::find(dims, d) == dims.end()) shape.push_back(x.shape[static_cast<size_t>(d)]);
  }
  STITCH_CHECK(need_fit(shape));
  return shape;
}

Result<ResultTypes> infer_index(OperandTypes in, const Attributes& attributes) {
  STITCH_TRY(Shape shape, indexed_shape(*in[0], in.subspan(1), attributes));
  return ResultTypes{{in[0]->dtype, std::move(shape), {}}};
}

// Only the rows that are read, not the whole table.
Cost index_cost(OperandTypes in, const Attributes&, const ResultTypes& results) {
  double bytes = 2 * static_cast<double>(results[0].bytes());
  for (const TensorType* index : in.subspan(1)) bytes += static_cast<double>(index->bytes());
  return {.bytes = bytes};
}

Result<ResultTypes> infer_index_put(OperandTypes in, const Attributes& attributes) {
  const TensorType &x = *in[0], &values = *in[1];
  STITCH_CHECK(need_same_dtype(x, values, "the values"));
  STITCH_TRY(Shape shape, indexed_shape(x, in.subspan(2), attributes));
  auto together = broadcast(values.shape, shape);
  if (!together || *together != shape)
    return ill(format("values {} where {} is indexed", text(values.shape), text(shape)));
  return ResultTypes{{x.dtype, x.shape, {}}};
}

Result<ResultTypes> infer_sort(OperandTypes in, const Attributes& attributes) {
  STITCH_CHECK(dimension(attributes.integer("dim"), in[0]->rank()));
  return ResultTypes{{in[0]->dtype, in[0]->shape, {}}, {DType::i64, in[0]->shape, {}}};
}

Result<ResultTypes> infer_topk(OperandTypes in, const Attributes& attributes) {
  STITCH_TRY(int64_t dim, dimension(attributes.integer("dim"), in[0]->rank()));
  int64_t k = attributes.integer("k");
  Shape shape = in[0]->shape;
  int64_t size = shape.empty() ? 1 : shape[static_cast<size_t>(dim)];
  if (k < 0 || k > size) return ill(format("the top {} of {}", k, size));
  if (!shape.empty()) shape[static_cast<size_t>(dim)] = k;
  return ResultTypes{{in[0]->dtype, shape, {}}, {DType::i64, shape, {}}};
}

Result<ResultTypes> infer_searchsorted(OperandTypes in, const Attributes&) {
  const TensorType &sorted = *in[0], &values = *in[1];
  STITCH_CHECK(need_same_dtype(sorted, values, "the values"));
  bool rows = sorted.rank() == values.rank() && sorted.rank() > 0 &&
              std::equal(sorted.shape.begin(), sorted.shape.end() - 1, values.shape.begin());
  if (sorted.rank() != 1 && !rows)
    return ill(format("searchsorted of {} in {}", text(values.shape), text(sorted.shape)));
  return ResultTypes{{DType::i64, values.shape, {}}};
}

}  // namespace

std::vector<OpInfo> indexing() {
  AttributeSpec dim{"dim", int64_t{0}, true}, dims{"dims", std::vector<int64_t>{}, true};
  constexpr auto variadic = OperandSpec::variadic;
  return {
      {Op::gather,
       "gather",
       Family::indexing,
       "element [i.., index[i..j..k], ..k] of x for each index",
       {{"x"}, {"index"}},
       {dim},
       infer_gather,
       index_cost},
      {Op::scatter,
       "scatter",
       Family::indexing,
       "x with source written, or reduced into it, where index says along dim; include_self is for "
       "reductions",
       {{"x"}, {"index"}, {"source"}},
       {dim, {"reduce", std::string("none")}, {"include_self", true}},
       infer_scatter,
       only_traffic},
      {Op::index,
       "index",
       Family::indexing,
       "x indexed by integer tensors along dims (embedding: dims=[0]); negative counts from the end",
       {{"x"}, {"indices", variadic}},
       {dims},
       infer_index,
       index_cost},
      {Op::index_put,
       "index_put",
       Family::indexing,
       "x with values written or added at the indexed places",
       {{"x"}, {"values"}, {"indices", variadic}},
       {dims, {"accumulate", false}},
       infer_index_put,
       only_traffic},
      {Op::sort,
       "sort",
       Family::indexing,
       "sorted along dim, NaN last (first if descending), and where each came from; equal ones stay in their "
       "order, which only stable=true promises",
       {{"x"}},
       {{"dim", int64_t{-1}}, {"descending", false}, {"stable", false}},
       infer_sort,
       per_operand},
      {Op::topk,
       "topk",
       Family::indexing,
       "the k largest (or smallest) along dim in order, and their positions",
       {{"x"}},
       {{"k", int64_t{1}, true}, {"dim", int64_t{-1}}, {"largest", true}},
       infer_topk,
       per_operand},
      {Op::searchsorted,
       "searchsorted",
       Family::indexing,
       "where each value would be inserted into the sorted rows",
       {{"sorted"}, {"values"}},
       {{"right", false}},
       infer_searchsorted,
       only_traffic},
  };
}

}  // namespace stitch::ops
