// Reductions and scans.
#include <cmath>

#include "base/text.h"
#include "import/aten/table.h"

namespace stitch {

namespace {

std::vector<int64_t> dims_of(const Call& call, ValueId x, const char* name) {
  std::vector<int64_t> dims = call.integers(name);
  for (int64_t& dim : dims) dim = call.dimension(dim, call.rank(x));
  // Rank 0 has no dimension to name: reducing it changes nothing.
  if (call.rank(x) == 0) dims.clear();
  return dims;
}

// Sums and the like compute in the result's dtype (dtype=, or i64 for integers).
ComputeOne reduction(Op op, const char* dims = "dim") {
  return [=](Call& call) {
    ValueId x = call.cast(call.tensor("self"), call.output().dtype);
    return call.reduce(op, x, dims_of(call, x, dims), call.flag("keepdim", false));
  };
}

ComputeOne extreme(Op op) {
  return [op](Call& call) {
    ValueId x = call.tensor("self");
    return call.reduce(op, x, dims_of(call, x, "dim"), call.flag("keepdim", false));
  };
}

// max.dim and min.dim: the value and its position.
Compute extreme_with_position(Op value, Op position) {
  return [=](Call& call) {
    ValueId x = call.tensor("self");
    auto dims = dims_of(call, x, "dim");
    bool keepdim = call.flag("keepdim", false);
    return Values{call.reduce(value, x, dims, keepdim), call.reduce(position, x, dims, keepdim)};
  };
}

ComputeOne truth(Op op) {
  return [op](Call& call) {
    ValueId x = call.cast(call.tensor("self"), DType::boolean);
    return call.cast(call.reduce(op, x, dims_of(call, x, "dim"), call.flag("keepdim", false)),
                     call.output().dtype);
  };
}

ValueId norm(Call& call, ValueId x, double order, const std::vector<int64_t>& dims, bool keepdim) {
  return call.emit(Op::norm, {x}, {{"dims", dims}, {"keepdim", keepdim}, {"order", order}});
}

double correction_of(Call& call) {
  if (call.has("unbiased")) return call.flag("unbiased") ? 1 : 0;
  return call.number("correction", 1);
}

ValueId variance(Call& call) {
  ValueId x = call.tensor("self");
  return call.emit(Op::var, {x},
                   {{"dims", dims_of(call, x, "dim")},
                    {"keepdim", call.flag("keepdim", false)},
                    {"correction", correction_of(call)}});
}

ValueId mean_of(Call& call) {
  ValueId x = call.tensor("self");
  return call.reduce(Op::mean, x, dims_of(call, x, "dim"), call.flag("keepdim", false));
}

ComputeOne scan(Op op) {
  return [op](Call& call) {
    ValueId x = call.cast(call.tensor("self"), call.output().dtype);
    return call.emit(op, {x}, {{"dim", call.integer("dim")}});
  };
}

ValueId count_nonzero(Call& call) {
  ValueId x = call.cast(call.cast(call.tensor("self"), DType::boolean), DType::i64);
  return call.reduce(Op::sum, x, dims_of(call, x, "dim"));
}

// The largest (or smallest) sum of absolute values of a column, for the orders 1 and -1, or of a row, for
// infinity.
ValueId matrix_norm(Call& call, ValueId x, const std::vector<int64_t>& dims, double order, bool keepdim) {
  if (std::abs(order) != 1 && !std::isinf(order))
    refuse("a matrix norm of this order is not supported",
           "use torch.linalg.vector_norm, or the Frobenius norm");
  bool of_columns = std::abs(order) == 1;
  int64_t summed = dims[of_columns ? 0 : 1], compared = dims[of_columns ? 1 : 0];
  ValueId sums = call.reduce(Op::sum, call.emit(Op::abs, {x}), {summed}, true);
  ValueId found = call.reduce(order > 0 ? Op::amax : Op::amin, sums, {compared}, true);
  return keepdim ? found : call.reshape(found, call.output().shape);
}

// Of vectors, or of matrices: those of two dimensions.
ValueId linalg_norm(Call& call) {
  bool keepdim = call.flag("keepdim", false);
  const char* name = call.has("self") ? "self" : "A";
  ValueId x = call.cast(call.tensor(name), call.output().dtype);
  auto dims = dims_of(call, x, "dim");
  if (call.is_text("ord")) {
    if (call.text("ord") != "fro") refuse("the nuclear norm is not supported", "use the Frobenius norm");
    return norm(call, x, 2, dims, keepdim);
  }
  if (dims.empty() && call.rank(x) == 2) dims = {0, 1};
  return dims.size() == 2 && call.has("ord") ? matrix_norm(call, x, dims, call.number("ord"), keepdim)
                                             : norm(call, x, call.number("ord", 2), dims, keepdim);
}

}  // namespace

void add_reductions(AtenTable& table) {
  table.one("aten.sum.default", reduction(Op::sum));
  table.one("aten.sum.dim_IntList", reduction(Op::sum));
  table.one("aten.mean.default", reduction(Op::mean));
  table.one("aten.mean.dim", reduction(Op::mean));
  table.one("aten.prod.default", reduction(Op::prod));
  table.one("aten.prod.dim_int", reduction(Op::prod));
  table.one("aten.logsumexp.default", reduction(Op::logsumexp));
  table.one("aten.special_logsumexp.default", reduction(Op::logsumexp));
  table.one("aten.nansum.default", [](Call& call) {
    ValueId x = call.tensor("self");
    ValueId clean = call.emit(Op::where, {call.emit(Op::is_nan, {x}), call.scalar(call.type(x).dtype, 0), x});
    return call.reduce(Op::sum, clean, dims_of(call, x, "dim"), call.flag("keepdim", false));
  });
  table.one("aten.amax.default", extreme(Op::amax));
  table.one("aten.amin.default", extreme(Op::amin));
  table.one("aten.max.default", extreme(Op::amax));
  table.one("aten.min.default", extreme(Op::amin));
  table.one("aten.argmax.default", extreme(Op::argmax));
  table.one("aten.argmin.default", extreme(Op::argmin));
  table.many("aten.max.dim", extreme_with_position(Op::amax, Op::argmax));
  table.many("aten.min.dim", extreme_with_position(Op::amin, Op::argmin));
  table.many("aten.aminmax.default", [](Call& call) {
    ValueId x = call.tensor("self");
    auto dims = dims_of(call, x, "dim");
    bool keepdim = call.flag("keepdim", false);
    return Values{call.reduce(Op::amin, x, dims, keepdim), call.reduce(Op::amax, x, dims, keepdim)};
  });
  for (const char* overload : {"default", "dim", "dims"}) {
    table.one(format("aten.any.{}", overload), truth(Op::any));
    table.one(format("aten.all.{}", overload), truth(Op::all));
  }
  table.one("aten.count_nonzero.default", count_nonzero);
  table.one("aten.count_nonzero.dim_IntList", count_nonzero);

  for (const char* overload : {"default", "dim", "correction"}) {
    table.one(format("aten.var.{}", overload), variance);
    table.one(format("aten.std.{}", overload),
              [](Call& call) { return call.emit(Op::sqrt, {variance(call)}); });
    table.many(format("aten.var_mean.{}", overload), [](Call& call) {
      return Values{variance(call), mean_of(call)};
    });
    table.many(format("aten.std_mean.{}", overload), [](Call& call) {
      return Values{call.emit(Op::sqrt, {variance(call)}), mean_of(call)};
    });
  }

  table.one("aten.linalg_vector_norm.default", [](Call& call) {
    ValueId x = call.cast(call.tensor("self"), call.output().dtype);
    return norm(call, x, call.number("ord"), dims_of(call, x, "dim"), call.flag("keepdim", false));
  });
  for (const char* overload : {"Scalar", "ScalarOpt_dim", "ScalarOpt_dtype", "ScalarOpt_dim_dtype"})
    table.one(format("aten.norm.{}", overload), [](Call& call) {
      ValueId x = call.cast(call.tensor("self"), call.output().dtype);
      return norm(call, x, call.number("p", 2), dims_of(call, x, "dim"), call.flag("keepdim", false));
    });
  for (const char* overload : {"default", "dim"})
    table.one(format("aten.frobenius_norm.{}", overload), [](Call& call) {
      ValueId x = call.tensor("self");
      return norm(call, x, 2, dims_of(call, x, "dim"), call.flag("keepdim", false));
    });
  for (const char* op : {"linalg_norm.default", "linalg_norm.ord_str", "linalg_matrix_norm.default",
                         "linalg_matrix_norm.str_ord"})
    table.one(format("aten.{}", op), linalg_norm);

  table.one("aten.cumsum.default", scan(Op::cumsum));
  table.one("aten.cumprod.default", scan(Op::cumprod));
  table.one("aten.logcumsumexp.default", scan(Op::logcumsumexp));
  table.many("aten.cummax.default", [](Call& call) {
    return call.emit_all(Op::cummax, {call.tensor("self")}, {{"dim", call.integer("dim")}});
  });
  table.many("aten.cummin.default", [](Call& call) {
    return call.emit_all(Op::cummin, {call.tensor("self")}, {{"dim", call.integer("dim")}});
  });
}

}  // namespace stitch
