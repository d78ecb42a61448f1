// Functions of probability and their relatives, as short programs of erf, lgamma and digamma.
#include <cmath>
#include <numbers>

#include "base/text.h"
#include "import/aten/emit.h"

namespace stitch {

namespace special {

namespace {

ValueId self(Call& call) { return call.cast(call.tensor("self"), call.output().dtype); }
ValueId times(Call& call, ValueId x, double by) { return call.emit(Op::mul, {x, constant(call, x, by)}); }

ComputeOne unary_of_self(Op op) {
  return [op](Call& call) { return call.emit(op, {self(call)}); };
}

// The normal distribution's integral.
ValueId normal_integral(Call& call) {
  return times(call, call.emit(Op::erfc, {times(call, self(call), -std::numbers::sqrt2 / 2)}), 0.5);
}

// log of Gamma in several dimensions.
ValueId multivariate_lgamma(Call& call) {
  ValueId x = self(call), sum = ValueId::none;
  int64_t p = call.integer("p");
  for (int64_t i = 0; i < p; ++i) {
    ValueId shifted = call.emit(Op::sub, {x, constant(call, x, static_cast<double>(i) / 2)});
    ValueId term = call.emit(Op::lgamma, {shifted});
    sum = sum == ValueId::none ? term : call.emit(Op::add, {sum, term});
  }
  double rest = static_cast<double>(p * (p - 1)) / 4 * std::log(std::numbers::pi);
  return call.emit(Op::add, {sum, constant(call, x, rest)});
}

// -x log x; 0 at 0, -inf below.
ValueId entropy(Call& call) {
  ValueId x = self(call), zero = constant(call, x, 0);
  ValueId inside = call.emit(Op::neg, {call.emit(Op::mul, {x, call.emit(Op::log, {x})})});
  ValueId below = call.emit(Op::where, {call.emit(Op::lt, {x, zero}), constant(call, x, -INFINITY), inside});
  return call.emit(Op::where, {call.emit(Op::eq, {x, zero}), zero, below});
}

ValueId xlog1py(Call& call) {
  DType dtype = call.output().dtype;
  ValueId x = call.operand("self", dtype), y = call.operand("other", dtype), zero = call.scalar(dtype, 0);
  ValueId product = call.emit(Op::mul, {x, call.emit(Op::log1p, {y})});
  ValueId kept = call.emit(Op::where, {call.emit(Op::eq, {x, zero}), zero, product});
  return call.emit(Op::where, {call.emit(Op::is_nan, {y}), y, kept});
}

ValueId polygamma(Call& call) {
  if (call.integer("n") != 0)
    refuse("polygamma of an order above 0 is not supported", "only torch.digamma, its order 0, is");
  return call.emit(Op::digamma, {self(call)});
}

}  // namespace

void fill(AtenTable& table) {
  for (const char* name : {"erfinv", "special_erfinv"})
    table.one(format("aten.{}.default", name), unary_of_self(Op::erfinv));
  for (const char* name : {"lgamma", "special_gammaln"})
    table.one(format("aten.{}.default", name), unary_of_self(Op::lgamma));
  for (const char* name : {"digamma", "special_digamma", "special_psi"})
    table.one(format("aten.{}.default", name), unary_of_self(Op::digamma));
  table.one("aten.special_ndtr.default", normal_integral);
  for (const char* name : {"mvlgamma", "special_multigammaln"})
    table.one(format("aten.{}.default", name), multivariate_lgamma);
  table.one("aten.special_entr.default", entropy);
  for (const char* overload : {"default", "other_scalar", "self_scalar"})
    table.one(format("aten.special_xlog1py.{}", overload), xlog1py);
  for (const char* name : {"polygamma", "special_polygamma"})
    table.one(format("aten.{}.default", name), polygamma);
}

}  // namespace special

void add_special_functions(AtenTable& table) { special::fill(table); }

}  // namespace stitch
