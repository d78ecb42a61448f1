// Operators that are rare, and one line of others each.
#include <cmath>

#include "base/text.h"
#include "import/aten/emit.h"

namespace stitch {

namespace assorted {

namespace {

std::vector<int64_t> all_dims(Call& call, ValueId x, const char* name) {
  std::vector<int64_t> dims = call.integers(name);
  for (int64_t& dim : dims) dim = call.dimension(dim, call.rank(x));
  return dims;
}

// The mean of what is not NaN.
ValueId nanmean(Call& call) {
  ValueId x = call.cast(call.tensor("self"), call.output().dtype), missing = call.emit(Op::is_nan, {x});
  auto dims = all_dims(call, x, "dim");
  bool keep = call.flag("keepdim", false);
  ValueId sum = call.reduce(Op::sum, call.emit(Op::where, {missing, constant(call, x, 0), x}), dims, keep);
  ValueId there = call.cast(call.emit(Op::logical_not, {missing}), call.type(x).dtype);
  return call.emit(Op::div, {sum, call.reduce(Op::sum, there, dims, keep)});
}

ValueId sum_to_size(Call& call) {
  ValueId x = call.tensor("self");
  const Shape wanted = call.output().shape;
  std::vector<int64_t> dims;
  int64_t added = call.rank(x) - std::ssize(wanted);
  for (int64_t d = 0; d < call.rank(x); ++d)
    if (d < added ||
        (wanted[static_cast<size_t>(d - added)] == 1 && call.shape(x)[static_cast<size_t>(d)] != 1))
      dims.push_back(d);
  if (!dims.empty()) x = call.reduce(Op::sum, x, dims, true);
  return call.reshape(x, wanted);
}

ValueId ldexp(Call& call) {
  DType dtype = call.output().dtype;
  ValueId power = call.emit(Op::pow, {call.scalar(dtype, 2), call.operand("other", dtype)});
  return call.emit(Op::mul, {call.operand("self", dtype), power});
}

// softmax, of which a row of -inf alone is 0.
ValueId safe_softmax(Call& call) {
  ValueId x = call.cast(call.tensor("self"), call.output().dtype);
  int64_t dim = call.dimension(call.integer("dim"), call.rank(x));
  ValueId hidden = call.emit(Op::eq, {x, constant(call, x, -INFINITY)});
  ValueId all = call.rank(x) ? call.reduce(Op::all, hidden, {dim}, true) : hidden;
  return call.emit(Op::where, {all, constant(call, x, 0), call.emit(Op::softmax, {x}, {{"dim", dim}})});
}

// The angle of a real number: 0, or pi below 0.
ValueId angle(Call& call) {
  ValueId x = call.cast(call.tensor("self"), call.output().dtype);
  ValueId below = call.emit(Op::where, {call.emit(Op::lt, {x, constant(call, x, 0)}), constant(call, x, M_PI),
                                        constant(call, x, 0)});
  return call.emit(Op::where, {call.emit(Op::is_nan, {x}), x, below});
}

ValueId isin(Call& call) {
  ValueId x = call.tensor("elements"), among = call.tensor("test_elements");
  Shape column = call.shape(x);
  column.push_back(1);
  int64_t n = call.type(among).elements();
  if (n == 0) return call.full(call.shape(x), DType::boolean, call.flag("invert", false));
  ValueId same =
      call.emit(Op::eq, {call.reshape(x, column), call.cast(call.reshape(among, {n}), call.type(x).dtype)});
  ValueId found = call.reduce(Op::any, same, {std::ssize(column) - 1});
  return call.flag("invert", false) ? call.emit(Op::logical_not, {found}) : found;
}

// Distances between all pairs of rows, i < j.
ValueId pdist(Call& call) {
  ValueId x = call.tensor("self");
  int64_t n = call.shape(x)[0], width = call.shape(x)[1], pairs = n * (n - 1) / 2;
  if (pairs == 0) return call.full({0}, call.type(x).dtype, 0);
  ValueId gap = call.emit(Op::sub, {call.reshape(x, {n, 1, width}), call.reshape(x, {1, n, width})});
  ValueId all =
      call.emit(Op::norm, {gap}, {{"dims", std::vector<int64_t>{2}}, {"order", call.number("p", 2)}});
  Values rows;
  for (int64_t i = 0; i + 1 < n; ++i)
    rows.push_back(call.reshape(call.slice(call.slice(all, 0, i, i + 1), 1, i + 1, n), {n - 1 - i}));
  return rows.size() == 1 ? rows[0] : call.emit(Op::concat, rows, {{"dim", int64_t{0}}});
}

// Areas of trapezoids between neighbours, of width dx or between given places.
ValueId trapezoids(Call& call) {
  ValueId y = call.cast(call.tensor("y"), call.output().dtype);
  int64_t dim = call.dimension(call.integer("dim", -1), call.rank(y)),
          n = call.shape(y)[static_cast<size_t>(dim)];
  auto neighbours = [&](ValueId v, int64_t along, Op op) {
    return call.emit(op, {call.slice(v, along, 1, n), call.slice(v, along, 0, n - 1)});
  };
  ValueId areas = call.emit(Op::mul, {neighbours(y, dim, Op::add), constant(call, y, 0.5)});
  if (!call.has("x")) return call.emit(Op::mul, {areas, call.operand("dx", call.type(y).dtype)});
  ValueId x = call.cast(call.tensor("x"), call.type(y).dtype);
  if (call.rank(x) == 1) {
    Shape shape(static_cast<size_t>(call.rank(y)), 1);
    shape[static_cast<size_t>(dim)] = n;
    x = call.reshape(x, shape);
  }
  return call.emit(Op::mul, {areas, neighbours(x, call.rank(x) - (call.rank(y) - dim), Op::sub)});
}

// y, the mean and the reciprocal deviation of every row.
Values native_layer_norm(Call& call) {
  ValueId x = call.tensor("input");
  int64_t dims = std::ssize(call.integers("normalized_shape"));
  std::vector<int64_t> along;
  for (int64_t d = call.rank(x) - dims; d < call.rank(x); ++d) along.push_back(d);
  ValueId y = call.emit(Op::layer_norm, {x, call.tensor_or_none("weight"), call.tensor_or_none("bias")},
                        {{"dims", dims}, {"eps", call.number("eps")}});
  ValueId spread = call.emit(Op::var, {x}, {{"dims", along}, {"keepdim", true}, {"correction", 0.0}});
  ValueId deviation =
      call.emit(Op::rsqrt, {call.emit(Op::add, {spread, constant(call, x, call.number("eps"))})});
  return {y, call.reduce(Op::mean, x, along, true), deviation};
}

// Slices along dim joined where the index says.
ValueId index_reduce(Call& call) {
  ValueId x = call.tensor("self"), at = call.tensor("index"), source = call.tensor("source");
  int64_t dim = call.dimension(call.integer("dim"), call.rank(x));
  if (call.rank(x) == 0) refuse("index_reduce of a tensor without dimensions is not supported");
  Shape shape(static_cast<size_t>(call.rank(x)), 1);
  shape[static_cast<size_t>(dim)] = call.type(at).elements();
  ValueId wide = call.expand(call.reshape(at, shape), call.shape(source));
  return call.emit(
      Op::scatter, {x, wide, source},
      {{"dim", dim}, {"reduce", call.text("reduce")}, {"include_self", call.flag("include_self", true)}});
}

ValueId put(Call& call) {
  ValueId x = call.tensor("self"), at = call.tensor("index"), source = call.tensor("source");
  int64_t n = call.type(at).elements();
  ValueId flat = call.reshape(x, {call.type(x).elements()});
  ValueId out =
      call.emit(Op::index_put, {flat, call.reshape(source, {n}), call.reshape(at, {n})},
                {{"dims", std::vector<int64_t>{0}}, {"accumulate", call.flag("accumulate", false)}});
  return call.reshape(out, call.shape(x));
}

// Rows longer than maxnorm are cut to it.
ValueId renormed(Call& call, ValueId x, const std::vector<int64_t>& dims, double order, double most) {
  ValueId length = call.emit(Op::norm, {x}, {{"dims", dims}, {"keepdim", true}, {"order", order}});
  ValueId scale =
      call.emit(Op::div, {constant(call, x, most), call.emit(Op::add, {length, constant(call, x, 1e-7)})});
  ValueId longer = call.emit(Op::gt, {length, constant(call, x, most)});
  return call.emit(Op::mul, {x, call.emit(Op::where, {longer, scale, constant(call, x, 1)})});
}

ValueId renorm(Call& call) {
  ValueId x = call.tensor("self");
  int64_t kept = call.dimension(call.integer("dim"), call.rank(x));
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < call.rank(x); ++d)
    if (d != kept) dims.push_back(d);
  return renormed(call, x, dims, call.number("p"), call.number("maxnorm"));
}

// nn.Embedding(max_norm=…): the rows that are looked up are cut in the table itself.
ValueId embedding_renorm(Call& call) {
  ValueId table = call.tensor("self"), at = call.tensor("indices");
  int64_t rows = call.shape(table)[0], n = call.type(at).elements();
  ValueId used = call.emit(
      Op::index_put,
      {call.full({rows}, DType::boolean, 0), call.full({}, DType::boolean, 1), call.reshape(at, {n})},
      {{"dims", std::vector<int64_t>{0}}});
  ValueId cut = renormed(call, table, {1}, call.number("norm_type"), call.number("max_norm"));
  return call.emit(Op::where, {call.reshape(used, {rows, 1}), cut, table});
}

// Whole matrix powers of a range of exponents: 1, x, x^2, …
ValueId vander(Call& call) {
  ValueId x = call.tensor("x");
  DType dtype = call.output().dtype;
  ValueId exponents = call.emit(Op::iota, {}, {{"size", call.output().shape.back()}, {"dtype", dtype}});
  Shape column = call.shape(x);
  column.push_back(1);
  return call.emit(Op::pow, {call.reshape(call.cast(x, dtype), column), exponents});
}

}  // namespace

void fill(AtenTable& table) {
  table.one("aten.nanmean.default", nanmean);
  table.one("aten.sum_to_size.default", sum_to_size);
  table.one("aten.ldexp.Tensor", ldexp);
  table.one("aten.ldexp.default", ldexp);  // of ldexp_ alone
  table.one("aten._safe_softmax.default", safe_softmax);
  table.one("aten.angle.default", angle);
  table.one("aten.isin.Tensor_Tensor", isin);
  for (const char* name : {"pdist", "_pdist_forward"}) table.one(format("aten.{}.default", name), pdist);
  for (const char* overload : {"x", "dx"}) {
    for (const char* name : {"trapz", "trapezoid"})
      table.one(format("aten.{}.{}", name, overload), [](Call& call) {
        ValueId areas = trapezoids(call);
        return call.reduce(Op::sum, areas, {call.dimension(call.integer("dim", -1), call.rank(areas))});
      });
    table.one(format("aten.cumulative_trapezoid.{}", overload), [](Call& call) {
      ValueId areas = trapezoids(call);
      return call.emit(Op::cumsum, {areas},
                       {{"dim", call.dimension(call.integer("dim", -1), call.rank(areas))}});
    });
  }
  table.many("aten.native_layer_norm.default", native_layer_norm);
  table.one("aten.index_reduce.default", index_reduce);
  table.one("aten.put.default", put);
  table.one("aten.renorm.default", renorm);
  table.one("aten.embedding_renorm.default", embedding_renorm);
  table.one("aten.linalg_vander.default", vander);
  table.one("aten.isreal.default",
            [](Call& call) { return call.full(call.output().shape, DType::boolean, 1); });
  for (const char* name : {"conj_physical", "_conj", "conj"})
    table.view(format("aten.{}.default", name), "self", [](Call&) { return View{}; });
  table.view("aten.real.default", "self", [](Call&) { return View{}; });
}

}  // namespace assorted

void add_assorted(AtenTable& table) { assorted::fill(table); }

}  // namespace stitch
