// Linear algebra on matrices taken apart: inverse, solve, determinant, Cholesky, QR.
#include <cmath>

#include "base/text.h"
#include "import/aten/table.h"

namespace stitch {

namespace factors {

namespace {

struct Lu {
  ValueId both, pivots, rows;
};

Lu lu_of(Call& call, ValueId x) {
  Values results = call.emit_all(Op::lu, {x});
  return {results[0], results[1], results[2]};
}

Shape lead_of(Call& call, ValueId x, size_t behind = 2) {
  return {call.shape(x).begin(), call.shape(x).end() - static_cast<long>(behind)};
}

ValueId triangular(Call& call, ValueId a, ValueId b, bool upper, bool unit) {
  return call.emit(Op::triangular_solve, {a, b}, {{"upper", upper}, {"unit", unit}});
}

ValueId eye_like(Call& call, ValueId x) {
  int64_t n = call.shape(x).back();
  ValueId i = call.emit(Op::iota, {}, {{"size", n}, {"dtype", DType::i64}});
  ValueId eye = call.cast(call.emit(Op::eq, {call.reshape(i, {n, 1}), i}), call.type(x).dtype);
  return call.expand(eye, call.shape(x));
}

// Row i of the result is row rows[i] of b.
ValueId permuted_rows(Call& call, ValueId b, ValueId rows) {
  Shape column = call.shape(rows);
  column.push_back(1);
  return call.emit(Op::gather, {b, call.expand(call.reshape(rows, column), call.shape(b))},
                   {{"dim", call.rank(b) - 2}});
}

ValueId solved(Call& call, const Lu& lu, ValueId b) {
  ValueId y = triangular(call, lu.both, permuted_rows(call, b, lu.rows), false, true);
  return triangular(call, lu.both, y, true, false);
}

// Both with the same leading dimensions.
void broadcast_leads(Call& call, ValueId& a, ValueId& b) {
  auto lead = broadcast(lead_of(call, a), lead_of(call, b));
  if (!lead) refuse("the batches of the two matrices don't fit");
  for (ValueId* x : {&a, &b}) {
    Shape shape = *lead;
    shape.insert(shape.end(), call.shape(*x).end() - 2, call.shape(*x).end());
    *x = call.expand(*x, shape);
  }
}

ValueId solve_systems(Call& call, ValueId a, ValueId b, bool left) {
  if (!left) {
    a = call.swap_last(a);
    b = call.swap_last(b);
  }
  broadcast_leads(call, a, b);
  ValueId x = solved(call, lu_of(call, a), b);
  return left ? x : call.swap_last(x);
}

ValueId solve(Call& call) {
  ValueId a = call.tensor("A"), b = call.tensor("B");
  // numpy's rule: B is a batch of vectors if it has the shape of A without its last dimension.
  bool vector = call.rank(b) == 1 || (call.rank(a) - 1 == call.rank(b) &&
                                      call.shape(b) == Shape(call.shape(a).begin(), call.shape(a).end() - 1));
  if (vector) {
    Shape column = call.shape(b);
    column.push_back(1);
    b = call.reshape(b, column);
  }
  return call.reshape(solve_systems(call, a, b, call.flag("left", true) || vector), call.output().shape);
}

ValueId inverse(Call& call, const char* name) {
  ValueId x = call.tensor(name);
  return solved(call, lu_of(call, x), eye_like(call, x));
}

ValueId diagonal(Call& call, ValueId x) {
  const Shape& shape = call.shape(x);
  int64_t n = shape.back();
  Shape out = lead_of(call, x);
  std::vector<int64_t> strides = contiguous_strides(shape);
  std::vector<int64_t> kept(strides.begin(), strides.end() - 2);
  kept.push_back(n + 1);
  out.push_back(n);
  return call.emit(Op::strided_view, {x}, {{"shape", out}, {"strides", kept}});
}

// 1 or -1: how often rows were swapped.
ValueId parity(Call& call, const Lu& lu, DType dtype) {
  int64_t n = call.shape(lu.pivots).back();
  ValueId moved =
      call.cast(call.emit(Op::ne, {lu.pivots, call.emit(Op::iota, {}, {{"size", n}, {"dtype", DType::i64}})}),
                DType::i64);
  ValueId swaps = call.reduce(Op::sum, moved, {call.rank(moved) - 1});
  ValueId odd = call.emit(
      Op::ne, {call.emit(Op::bitwise_and, {swaps, call.scalar(DType::i64, 1)}), call.scalar(DType::i64, 0)});
  return call.emit(Op::where, {odd, call.scalar(dtype, -1), call.scalar(dtype, 1)});
}

ValueId determinant(Call& call, const char* name) {
  ValueId x = call.tensor(name);
  if (call.shape(x).back() == 0) return call.full(call.output().shape, call.type(x).dtype, 1);
  Lu lu = lu_of(call, x);
  ValueId d = diagonal(call, lu.both);
  return call.emit(Op::mul,
                   {parity(call, lu, call.type(x).dtype), call.reduce(Op::prod, d, {call.rank(d) - 1})});
}

Values sign_and_log(Call& call, const char* name) {
  ValueId x = call.tensor(name);
  DType dtype = call.type(x).dtype;
  Lu lu = lu_of(call, x);
  ValueId d = diagonal(call, lu.both);
  int64_t last = call.rank(d) - 1;
  ValueId sign =
      call.emit(Op::mul, {parity(call, lu, dtype), call.reduce(Op::prod, call.emit(Op::sign, {d}), {last})});
  return {sign, call.reduce(Op::sum, call.emit(Op::log, {call.emit(Op::abs, {d})}), {last})};
}

// log of the determinant; NaN where it is negative.
ValueId log_determinant(Call& call) {
  Values both = sign_and_log(call, "self");
  DType dtype = call.type(both[0]).dtype;
  return call.emit(Op::where,
                   {call.emit(Op::lt, {both[0], call.scalar(dtype, 0)}), call.scalar(dtype, NAN), both[1]});
}

ValueId cholesky(Call& call, bool upper) {
  ValueId x = call.tensor("self");
  // The triangle that is asked for is the one that is read.
  if (!upper) return call.emit(Op::cholesky, {x});
  return call.swap_last(call.emit(Op::cholesky, {call.swap_last(x)}));
}

// A from its factor: L L^T x = b.
ValueId cholesky_solved(Call& call, ValueId factor, ValueId b, bool upper) {
  ValueId l = upper ? call.swap_last(factor) : factor;
  return triangular(call, call.swap_last(l), triangular(call, l, b, false, false), true, false);
}

Values qr(Call& call) {
  ValueId x = call.tensor("A");
  std::string mode = call.has("mode") ? call.text("mode") : "reduced";
  Values both = call.emit_all(Op::qr, {x}, {{"complete", mode == "complete"}});
  if (mode == "r") both[0] = call.full(call.output(0).shape, call.type(x).dtype, 0);
  return both;
}

// The old spelling: some=False is the complete one.
Values old_qr(Call& call) {
  return call.emit_all(Op::qr, {call.tensor("self")}, {{"complete", !call.flag("some", true)}});
}

Values lu_matrices(Call& call) {
  ValueId x = call.tensor("A");
  if (call.shape(x).back() != call.shape(x).end()[-2])
    refuse("LU of a matrix that is not square is not supported");
  Lu lu = lu_of(call, x);
  DType dtype = call.type(x).dtype;
  int64_t n = call.shape(x).back();
  ValueId lower =
      call.emit(Op::add, {call.emit(Op::tril, {lu.both}, {{"diagonal", int64_t{-1}}}), eye_like(call, x)});
  ValueId upper = call.emit(Op::triu, {lu.both}, {{"diagonal", int64_t{0}}});
  // P[rows[j], j] = 1
  Shape row = lead_of(call, x), out = call.shape(x);
  row.insert(row.end(), {1, n});
  ValueId i = call.reshape(call.emit(Op::iota, {}, {{"size", n}, {"dtype", DType::i64}}), {n, 1});
  ValueId permutation = call.cast(call.emit(Op::eq, {i, call.reshape(lu.rows, row)}), dtype);
  return {permutation, lower, upper};
}

Values lu_packed(Call& call) {
  ValueId x = call.tensor("A");
  if (call.shape(x).back() != call.shape(x).end()[-2])
    refuse("LU of a matrix that is not square is not supported");
  Lu lu = lu_of(call, x);
  ValueId pivots = call.emit(Op::add, {lu.pivots, call.scalar(DType::i64, 1)});
  Values out = {lu.both, call.cast(pivots, DType::i32)};
  if (call.node().outputs.size() > 2) out.push_back(call.full(call.output(2).shape, DType::i32, 0));
  return out;
}

ValueId triangular_systems(Call& call) {
  ValueId a = call.tensor("self"), b = call.tensor("B");
  bool upper = call.flag("upper"), left = call.flag("left", true), unit = call.flag("unitriangular", false);
  if (!left) {
    a = call.swap_last(a);
    b = call.swap_last(b);
    upper = !upper;
  }
  broadcast_leads(call, a, b);
  ValueId x = triangular(call, a, b, upper, unit);
  return left ? x : call.swap_last(x);
}

// By scaling and squaring with Taylor's polynomial of degree 9: exact within rounding for norms up to 100,
// beyond which the exponential leaves float's range.
ValueId matrix_exponential(Call& call) {
  ValueId x = call.tensor("self");
  DType dtype = call.type(x).dtype;
  constexpr int squarings = 10;
  ValueId small = call.emit(Op::mul, {x, call.scalar(dtype, std::ldexp(1.0, -squarings))}),
          eye = eye_like(call, x);
  // exp(x) - 1 is squared, y -> y (y + 2): adding 1 first would lose what is small.
  ValueId y = small;
  for (int k = 8; k >= 2; --k) {
    ValueId inner =
        call.emit(Op::add, {eye, k == 8 ? call.emit(Op::mul, {small, call.scalar(dtype, 1.0 / 9)}) : y});
    y = call.emit(Op::mul, {call.emit(Op::matmul, {small, inner}), call.scalar(dtype, 1.0 / k)});
  }
  y = call.emit(Op::matmul, {small, call.emit(Op::add, {eye, y})});
  for (int i = 0; i < squarings; ++i)
    y = call.emit(Op::add, {call.emit(Op::matmul, {y, y}), call.emit(Op::mul, {y, call.scalar(dtype, 2)})});
  return call.emit(Op::add, {y, eye});
}

}  // namespace

void fill(AtenTable& table) {
  table.one("aten.linalg_inv.default", [](Call& call) { return inverse(call, "A"); });
  table.many("aten.linalg_inv_ex.default", [](Call& call) {
    return Values{inverse(call, "A"), call.full(call.output(1).shape, DType::i32, 0)};
  });
  table.one("aten.inverse.default", [](Call& call) { return inverse(call, "self"); });
  table.one("aten.linalg_solve.default", solve);
  table.many("aten.linalg_solve_ex.default", [](Call& call) {
    return Values{solve(call), call.full(call.output(1).shape, DType::i32, 0)};
  });
  table.one("aten.linalg_solve_triangular.default", triangular_systems);
  table.one("aten.linalg_det.default", [](Call& call) { return determinant(call, "A"); });
  table.one("aten.det.default", [](Call& call) { return determinant(call, "self"); });
  table.many("aten.linalg_slogdet.default", [](Call& call) { return sign_and_log(call, "A"); });
  table.many("aten.slogdet.default", [](Call& call) { return sign_and_log(call, "self"); });
  table.one("aten.logdet.default", log_determinant);
  table.one("aten.linalg_cholesky.default",
            [](Call& call) { return cholesky(call, call.flag("upper", false)); });
  table.many("aten.linalg_cholesky_ex.default", [](Call& call) {
    return Values{cholesky(call, call.flag("upper", false)), call.full(call.output(1).shape, DType::i32, 0)};
  });
  table.one("aten.cholesky.default", [](Call& call) { return cholesky(call, call.flag("upper", false)); });
  table.one("aten.cholesky_solve.default", [](Call& call) {
    ValueId factor = call.tensor("input2"), b = call.tensor("self");
    broadcast_leads(call, factor, b);
    return cholesky_solved(call, factor, b, call.flag("upper", false));
  });
  table.one("aten.cholesky_inverse.default", [](Call& call) {
    ValueId factor = call.tensor("self");
    return cholesky_solved(call, factor, eye_like(call, factor), call.flag("upper", false));
  });
  table.many("aten.linalg_qr.default", qr);
  table.many("aten.qr.default", old_qr);
  table.many("aten.linalg_lu.default", lu_matrices);
  table.many("aten.linalg_lu_factor.default", lu_packed);
  table.many("aten.linalg_lu_factor_ex.default", lu_packed);
  for (const char* name : {"matrix_exp", "linalg_matrix_exp"})
    table.one(format("aten.{}.default", name), matrix_exponential);
}

}  // namespace factors

void add_factors(AtenTable& table) { factors::fill(table); }

}  // namespace stitch
