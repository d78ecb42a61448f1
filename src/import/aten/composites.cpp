// Operators that are short programs of others.
#include <cmath>
#include <numbers>

#include "import/aten/promotion.h"
#include "import/aten/table.h"

namespace stitch {

namespace {

ValueId positions(Call& call, int64_t size) {
  return call.emit(Op::iota, {}, {{"size", size}, {"dtype", DType::i64}});
}

ValueId diff(Call& call) {
  ValueId x = call.tensor("self");
  int64_t dim = call.dimension(call.integer("dim", -1), call.rank(x));
  Values parts;
  if (call.has("prepend")) parts.push_back(call.tensor("prepend"));
  parts.push_back(x);
  if (call.has("append")) parts.push_back(call.tensor("append"));
  if (parts.size() > 1) x = call.emit(Op::concat, parts, {{"dim", dim}});
  for (int64_t i = 0; i < call.integer("n", 1); ++i) {
    int64_t size = call.shape(x)[static_cast<size_t>(dim)];
    ValueId later = call.slice(x, dim, 1, size), earlier = call.slice(x, dim, 0, size - 1);
    x = call.type(x).dtype == DType::boolean ? call.emit(Op::logical_xor, {later, earlier})
                                             : call.emit(Op::sub, {later, earlier});
  }
  return x;
}

ValueId isclose(Call& call) {
  DType dtype = common_dtype(call, {"self", "other"});
  ValueId a = call.operand("self", dtype), b = call.operand("other", dtype);
  ValueId equal = call.emit(Op::eq, {a, b});
  if (!is_floating(dtype)) {
    dtype = DType::f64;
    a = call.cast(a, dtype);
    b = call.cast(b, dtype);
  }
  ValueId allowed = call.emit(
      Op::add, {call.scalar(dtype, call.number("atol")),
                call.emit(Op::mul, {call.scalar(dtype, call.number("rtol")), call.emit(Op::abs, {b})})});
  ValueId gap = call.emit(Op::abs, {call.emit(Op::sub, {a, b})});
  ValueId finite = call.emit(Op::lt, {gap, call.scalar(dtype, INFINITY)});
  ValueId near = call.emit(Op::logical_and, {finite, call.emit(Op::le, {gap, allowed})});
  ValueId close = call.emit(Op::logical_or, {equal, near});
  if (!call.flag("equal_nan", false) || !is_floating(call.type(a).dtype)) return close;
  return call.emit(
      Op::logical_or,
      {close, call.emit(Op::logical_and, {call.emit(Op::is_nan, {a}), call.emit(Op::is_nan, {b})})});
}

ValueId heaviside(Call& call) {
  DType dtype = call.output().dtype;
  ValueId x = call.operand("self", dtype), zero = call.scalar(dtype, 0);
  ValueId step = call.cast(call.emit(Op::gt, {x, zero}), dtype);
  // NaN is neither zero nor above it: 0, as in PyTorch.
  return call.emit(Op::where, {call.emit(Op::eq, {x, zero}), call.operand("values", dtype), step});
}

ValueId logaddexp2(Call& call) {
  DType dtype = call.output().dtype;
  ValueId a = call.operand("self", dtype), b = call.operand("other", dtype);
  ValueId gap = call.emit(Op::neg, {call.emit(Op::abs, {call.emit(Op::sub, {a, b})})});
  ValueId power = call.emit(Op::exp, {call.emit(Op::mul, {gap, call.scalar(dtype, std::numbers::ln2)})});
  ValueId rest = call.emit(Op::mul, {call.emit(Op::log1p, {power}), call.scalar(dtype, std::numbers::log2e)});
  ValueId sum = call.emit(Op::add, {call.emit(Op::maximum, {a, b}), rest});
  ValueId same = call.emit(Op::logical_and, {call.emit(Op::is_inf, {a}), call.emit(Op::eq, {a, b})});
  return call.emit(Op::where, {same, a, sum});
}

// a x b along dim: (a2 b3 - a3 b2, …) as rolled products.
ValueId cross(Call& call) {
  ValueId a = call.tensor("self"), b = call.tensor("other");
  auto both = broadcast(call.shape(a), call.shape(b));
  a = call.expand(a, *both);
  b = call.expand(b, *both);
  // torch.cross without a dimension takes the first one of size 3; torch.linalg.cross the last.
  int64_t dim = -1;
  if (!call.has("dim") && call.node().op == "aten.cross.default")
    for (dim = 0; dim < call.rank(a) && call.shape(a)[static_cast<size_t>(dim)] != 3;) ++dim;
  dim = call.dimension(call.integer("dim", dim), call.rank(a));
  auto turned = [&](ValueId x, int64_t by) {
    return call.emit(Op::roll, {x},
                     {{"shifts", std::vector<int64_t>{by}}, {"dims", std::vector<int64_t>{dim}}});
  };
  return call.emit(Op::sub, {call.emit(Op::mul, {turned(a, -1), turned(b, 1)}),
                             call.emit(Op::mul, {turned(a, 1), turned(b, -1)})});
}

ValueId matrix_power(Call& call) {
  ValueId x = call.tensor("self"), out = x;
  int64_t n = call.integer("n");
  if (n < 1 || n > 64) refuse("a matrix power below 1 or above 64 is not supported");
  for (int64_t i = 1; i < n; ++i) out = call.emit(Op::matmul, {out, x});
  return out;
}

ValueId multi_dot(Call& call) {
  Values matrices = call.tensors(call.has("tensors") ? "tensors" : "matrices");
  if (call.rank(matrices.front()) == 1)
    matrices.front() = call.reshape(matrices.front(), {1, call.shape(matrices.front())[0]});
  if (call.rank(matrices.back()) == 1)
    matrices.back() = call.reshape(matrices.back(), {call.shape(matrices.back())[0], 1});
  ValueId product = matrices[0];
  for (size_t i = 1; i < matrices.size(); ++i) product = call.emit(Op::matmul, {product, matrices[i]});
  return call.reshape(product, call.output().shape);
}

ValueId vecdot(Call& call) {
  ValueId product = call.emit(Op::mul, {call.tensor("x"), call.tensor("y")});
  return call.reduce(Op::sum, product, {call.dimension(call.integer("dim", -1), call.rank(product))});
}

ValueId trace(Call& call) {
  ValueId x = call.tensor("self");
  int64_t rows = call.shape(x)[0], columns = call.shape(x)[1];
  ValueId diagonal =
      call.emit(Op::strided_view, {x},
                {{"shape", Shape{std::min(rows, columns)}}, {"strides", std::vector<int64_t>{columns + 1}}});
  return call.cast(call.reduce(Op::sum, diagonal), call.output().dtype);
}

ValueId fill_diagonal(Call& call) {
  ValueId x = call.tensor("self");
  if (call.rank(x) != 2 || call.flag("wrap", false))
    refuse("fill_diagonal_ is supported for matrices, without wrapping");
  int64_t rows = call.shape(x)[0], columns = call.shape(x)[1];
  ValueId on = call.emit(Op::eq, {call.reshape(positions(call, rows), {rows, 1}), positions(call, columns)});
  return call.emit(Op::where, {on, call.operand("fill_value", call.type(x).dtype), x});
}

ValueId block_diag(Call& call) {
  const Shape out = call.output().shape;
  Values rows;
  int64_t before = 0;
  for (ValueId x : call.tensors("tensors")) {
    Shape shape = call.shape(x);
    while (shape.size() < 2) shape.insert(shape.begin(), 1);
    x = call.cast(call.reshape(x, shape), call.output().dtype);
    rows.push_back(
        call.emit(Op::pad, {x}, {{"pads", std::vector<int64_t>{0, 0, before, out[1] - before - shape[1]}}}));
    before += shape[1];
  }
  return call.emit(Op::concat, rows, {{"dim", int64_t{0}}});
}

ValueId cartesian_prod(Call& call) {
  Values axes = call.tensors("tensors");
  Shape grid;
  for (ValueId x : axes) grid.push_back(call.shape(x)[0]);
  int64_t count = element_count(grid);
  if (axes.size() == 1) return axes[0];
  for (size_t i = 0; i < axes.size(); ++i) {
    Shape shape(grid.size(), 1);
    shape[i] = grid[i];
    axes[i] = call.reshape(call.expand(call.reshape(axes[i], shape), grid), {count, 1});
  }
  return call.emit(Op::concat, axes, {{"dim", int64_t{1}}});
}

ValueId rot90(Call& call) {
  ValueId x = call.tensor("self");
  auto dims = call.integers("dims");
  for (int64_t& dim : dims) dim = call.dimension(dim, call.rank(x));
  int64_t turns = ((call.integer("k", 1) % 4) + 4) % 4;
  auto flipped = [&](ValueId v, std::vector<int64_t> along) {
    return call.emit(Op::flip, {v}, {{"dims", along}});
  };
  if (turns == 0) return x;
  if (turns == 2) return flipped(x, dims);
  std::vector<int64_t> order(static_cast<size_t>(call.rank(x)));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[static_cast<size_t>(dims[0])], order[static_cast<size_t>(dims[1])]);
  return flipped(call.permute(x, order), {turns == 1 ? dims[0] : dims[1]});
}

// hstack and its kin: concatenation after everything has at least so many dimensions.
ComputeOne stacked(size_t rank, int64_t dim, bool vectors_are_columns = false) {
  return [=](Call& call) {
    Values parts = call.tensors("tensors");
    for (ValueId& x : parts) {
      Shape shape = call.shape(x);
      if (vectors_are_columns && shape.size() < 2) shape = {call.type(x).elements(), 1};
      while (shape.size() < rank) {
        if (rank == 3 && shape.size() == 2)
          shape.push_back(1);
        else
          shape.insert(shape.begin(), 1);
      }
      x = call.cast(call.reshape(x, shape), call.output().dtype);
    }
    int64_t along = dim == 1 && call.rank(parts[0]) == 1 ? 0 : dim;
    return parts.size() == 1 ? parts[0] : call.emit(Op::concat, parts, {{"dim", along}});
  };
}

// Row and column of each element of a triangle, counted row by row: how many stand in each row says
// where a row ends, and a search among the ends says which row an element is in.
ValueId triangle_indices(Call& call, bool upper) {
  double rows = static_cast<double>(call.integer("row")), columns = static_cast<double>(call.integer("col")),
         offset = static_cast<double>(call.integer("offset", 0));
  int64_t count = call.output().shape[1];
  auto number = [&](double value) { return call.scalar(DType::i64, value); };
  auto clamped = [&](ValueId x) { return call.emit(Op::clamp, {x}, {{"low", 0.0}, {"high", columns}}); };
  ValueId row = positions(call, static_cast<int64_t>(rows));
  ValueId first = upper ? clamped(call.emit(Op::add, {row, number(offset)}))
                        : call.full({static_cast<int64_t>(rows)}, DType::i64, 0);
  ValueId held = upper ? call.emit(Op::sub, {number(columns), first})
                       : clamped(call.emit(Op::add, {row, number(offset + 1)}));
  ValueId ends = call.emit(Op::cumsum, {held}, {{"dim", int64_t{0}}});
  ValueId element = positions(call, count);
  ValueId of_row = call.emit(Op::searchsorted, {ends, element}, {{"right", true}});
  auto looked_up = [&](ValueId table) {
    return call.emit(Op::index, {table, of_row}, {{"dims", std::vector<int64_t>{0}}});
  };
  ValueId in_row = call.emit(Op::sub, {element, looked_up(call.emit(Op::sub, {ends, held}))});
  ValueId column = call.emit(Op::add, {in_row, looked_up(first)});
  ValueId both = call.emit(Op::concat, {call.reshape(of_row, {1, count}), call.reshape(column, {1, count})},
                           {{"dim", int64_t{0}}});
  return call.cast(both, call.output().dtype);
}

// v scaled to the length g says, each slice along dim by itself.
ValueId weight_norm(Call& call) {
  ValueId v = call.tensor("v");
  int64_t kept = call.dimension(call.integer("dim", 0), call.rank(v));
  std::vector<int64_t> others;
  for (int64_t d = 0; d < call.rank(v); ++d)
    if (d != kept) others.push_back(d);
  ValueId length = call.emit(Op::norm, {v}, {{"dims", others}, {"keepdim", true}});
  return call.emit(Op::mul, {v, call.emit(Op::div, {call.tensor("g"), length})});
}

// The lower median and where it stands.
Values median(Call& call) {
  ValueId x = call.tensor("self");
  int64_t dim = call.dimension(call.integer("dim", 0), call.rank(x)),
          size = call.rank(x) ? call.shape(x)[static_cast<size_t>(dim)] : 1;
  if (call.rank(x) == 0) return {x, call.scalar(DType::i64, 0)};
  Values sorted = call.emit_all(Op::sort, {x}, {{"dim", dim}});
  for (ValueId& y : sorted)
    y = call.reshape(call.slice(y, dim, (size - 1) / 2, (size - 1) / 2 + 1), call.output().shape);
  if (!is_floating(call.type(x).dtype)) return sorted;
  // A row with NaN has NaN as its median, where the first one stands. By a comparison: who reads is_nan in a
  // graph takes it for a question of the model's.
  ValueId missing = call.emit(Op::ne, {x, x});
  ValueId any = call.reshape(call.reduce(Op::any, missing, {dim}), call.output().shape);
  ValueId first =
      call.reshape(call.reduce(Op::argmax, call.cast(missing, DType::i32), {dim}), call.output().shape);
  return {call.emit(Op::where, {any, call.scalar(call.type(x).dtype, NAN), sorted[0]}),
          call.emit(Op::where, {any, first, sorted[1]})};
}

// NaN counts as nothing: the lower median of what is left, or NaN.
Values nan_median(Call& call) {
  ValueId x = call.tensor("self");
  int64_t dim = call.dimension(call.integer("dim", 0), call.rank(x)),
          size = call.rank(x) ? call.shape(x)[static_cast<size_t>(dim)] : 1;
  if (call.rank(x) == 0 || !is_floating(call.type(x).dtype)) return median(call);
  Values sorted = call.emit_all(Op::sort, {x}, {{"dim", dim}});
  // NaN stands last: the median of n numbers is at (n - 1) / 2.
  ValueId numbers = call.cast(call.emit(Op::logical_not, {call.emit(Op::is_nan, {x})}), DType::i64);
  ValueId count = call.reduce(Op::sum, numbers, {dim}, true), one = call.scalar(DType::i64, 1);
  ValueId at = call.emit(Op::div, {call.emit(Op::sub, {count, one}), call.scalar(DType::i64, 2)},
                         {{"rounding", std::string("floor")}});
  at = call.emit(Op::clamp, {at}, {{"low", 0.0}, {"high", static_cast<double>(size - 1)}});
  for (ValueId& y : sorted)
    y = call.reshape(call.emit(Op::gather, {y, at}, {{"dim", dim}}), call.output().shape);
  return sorted;
}

// Over everything: the value alone.
ComputeOne of_all(Values (*along)(Call&)) {
  return [along](Call& call) {
    ValueId x = call.tensor("self");
    ValueId flat = call.reshape(x, {call.type(x).elements()});
    if (call.type(x).elements() == 0) return call.full({}, call.type(x).dtype, NAN);
    Call whole = call.with("self", {flat});
    return along(whole)[0];
  };
}

ValueId multi_margin(Call& call) {
  ValueId x = call.tensor("self"), target = call.tensor("target");
  DType dtype = call.type(x).dtype;
  if (call.rank(x) < 2) x = call.reshape(x, {1, call.type(x).elements()});
  target = call.reshape(target, {call.shape(x)[0], 1});
  int64_t classes = call.shape(x)[1];
  ValueId right = call.emit(Op::gather, {x, target}, {{"dim", int64_t{1}}});
  ValueId margin = call.emit(
      Op::clamp,
      {call.emit(Op::add, {call.emit(Op::sub, {x, right}), call.scalar(dtype, call.number("margin", 1))})},
      {{"low", 0.0}});
  if (call.number("p", 1) == 2) margin = call.emit(Op::mul, {margin, margin});
  if (call.has("weight"))
    margin = call.emit(Op::mul, {margin, call.emit(Op::index, {call.tensor("weight"), target},
                                                   {{"dims", std::vector<int64_t>{0}}})});
  ValueId others = call.emit(Op::ne, {positions(call, classes), target});
  margin = call.emit(Op::where, {others, margin, call.scalar(dtype, 0)});
  ValueId loss = call.emit(
      Op::mul, {call.reduce(Op::sum, margin, {1}), call.scalar(dtype, 1.0 / static_cast<double>(classes))});
  int64_t reduction = call.integer("reduction", 1);
  if (reduction == 0) return call.reshape(loss, call.output().shape);
  return call.reduce(reduction == 1 ? Op::mean : Op::sum, loss);
}

ValueId max_unpool(Call& call) {
  ValueId x = call.tensor("self"), at = call.tensor("indices");
  const Shape out = call.output().shape;
  size_t lead = out.size() - 2;
  Shape flat_in(call.shape(x).begin(), call.shape(x).begin() + static_cast<long>(lead)), flat_out = flat_in;
  flat_in.push_back(call.shape(x)[lead] * call.shape(x)[lead + 1]);
  flat_out.push_back(out[lead] * out[lead + 1]);
  ValueId empty = call.full(flat_out, call.type(x).dtype, 0);
  ValueId placed = call.emit(Op::scatter, {empty, call.reshape(at, flat_in), call.reshape(x, flat_in)},
                             {{"dim", static_cast<int64_t>(lead)}});
  return call.reshape(placed, out);
}

}  // namespace

void add_composites(AtenTable& table) {
  table.one("aten.diff.default", diff);
  table.one("aten.isclose.default", isclose);
  table.one("aten.heaviside.default", heaviside);
  table.one("aten.logaddexp2.default", logaddexp2);
  table.one("aten.linalg_cross.default", cross);
  table.one("aten.cross.default", cross);
  for (const char* name : {"matrix_power", "linalg_matrix_power"})
    table.one(format("aten.{}.default", name), matrix_power);
  for (const char* name : {"linalg_multi_dot", "chain_matmul"})
    table.one(format("aten.{}.default", name), multi_dot);
  table.one("aten.linalg_vecdot.default", vecdot);
  table.one("aten.trace.default", trace);
  table.one("aten.fill_diagonal.default", fill_diagonal);
  table.one("aten.block_diag.default", block_diag);
  table.one("aten.cartesian_prod.default", cartesian_prod);
  table.one("aten.rot90.default", rot90);
  table.one("aten.hstack.default", stacked(1, 1));
  table.one("aten.vstack.default", stacked(2, 0));
  table.one("aten.row_stack.default", stacked(2, 0));
  table.one("aten.dstack.default", stacked(3, 2));
  table.one("aten.column_stack.default", stacked(2, 1, true));
  for (const char* name : {"atleast_1d", "atleast_2d", "atleast_3d"})
    table.view(format("aten.{}.default", name), "self", [](Call& call) {
      return View{{Op::reshape, {{"shape", call.output().shape}}}};
    });
  table.one("aten.tril_indices.default", [](Call& call) { return triangle_indices(call, false); });
  table.one("aten.triu_indices.default", [](Call& call) { return triangle_indices(call, true); });
  table.one("aten._weight_norm.default", weight_norm);
  table.many("aten.median.dim", median);
  table.many("aten.nanmedian.dim", nan_median);
  table.one("aten.median.default", of_all(median));
  table.one("aten.nanmedian.default", of_all(nan_median));
  table.one("aten.dist.default", [](Call& call) {
    DType dtype = call.output().dtype;
    ValueId gap = call.emit(Op::sub, {call.operand("self", dtype), call.operand("other", dtype)});
    return call.emit(Op::norm, {gap}, {{"order", call.number("p", 2)}});
  });
  table.one("aten.multi_margin_loss.default", multi_margin);
  table.one("aten.max_unpool2d.default", max_unpool);
}

}  // namespace stitch
