// Pointwise operators of one tensor: activations and elementary functions.
#include <cmath>
#include <limits>
#include <numbers>

#include "import/aten/emit.h"
#include "import/aten/promotion.h"

namespace stitch {

namespace {

// Integers meet the result's dtype first: exp of an integer is a float.
ComputeOne unary(Op op) {
  return [op](Call& call) { return call.emit(op, {call.cast(call.tensor("self"), call.output().dtype)}); };
}

// On integers these are the identity.
ComputeOne rounding(Op op) {
  return [op](Call& call) {
    ValueId x = call.tensor("self");
    return is_floating(call.type(x).dtype) ? call.emit(op, {x}) : x;
  };
}

ValueId clamp(Call& call, ValueId x, double low, double high) {
  return call.emit(Op::clamp, {x}, {{"low", low}, {"high", high}});
}

ValueId clamp_call(Call& call) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  ValueId x = call.cast(call.tensor("self"), call.output().dtype);
  DType dtype = call.type(x).dtype;
  if (is_integer(dtype)) {
    // Bounds as numbers of their own: an attribute is a double.
    if (call.has("min")) x = call.emit(Op::maximum, {x, call.operand("min", dtype)});
    if (call.has("max")) x = call.emit(Op::minimum, {x, call.operand("max", dtype)});
    return x;
  }
  // Where the bounds cross, the maximum wins; a bound of NaN makes everything NaN.
  double low = call.number("min", -inf), high = call.number("max", inf);
  if (std::isnan(low) || std::isnan(high)) return call.full(call.shape(x), dtype, NAN);
  return clamp(call, x, low, high);
}

ValueId clamp_tensors(Call& call) {
  DType dtype = call.output().dtype;
  ValueId x = call.cast(call.tensor("self"), dtype);
  if (call.has("min")) x = call.emit(Op::maximum, {x, call.operand("min", dtype)});
  if (call.has("max")) x = call.emit(Op::minimum, {x, call.operand("max", dtype)});
  return x;
}

ValueId elu(Call& call, double alpha, double scale, double input_scale) {
  return call.emit(Op::elu, {call.tensor("self")},
                   {{"alpha", alpha}, {"scale", scale}, {"input_scale", input_scale}});
}

// keep ? x : otherwise
ValueId choose(Call& call, ValueId keep, ValueId x, ValueId otherwise) {
  return call.emit(Op::where, {keep, x, otherwise});
}

ValueId prelu(Call& call) {
  ValueId x = call.tensor("self"), weight = call.tensor("weight");
  if (call.rank(weight) == 1 && call.rank(x) > 1 && call.shape(weight)[0] > 1) {
    Shape shape(static_cast<size_t>(call.rank(x)), 1);
    shape[1] = call.shape(weight)[0];
    weight = call.reshape(weight, shape);
  }
  return choose(call, call.emit(Op::gt, {x, constant(call, x, 0)}), x, call.emit(Op::mul, {weight, x}));
}

ValueId glu(Call& call) {
  ValueId x = call.tensor("self");
  int64_t dim = call.dimension(call.integer("dim"), call.rank(x));
  int64_t size = call.shape(x)[static_cast<size_t>(dim)];
  ValueId gate = call.emit(Op::sigmoid, {call.slice(x, dim, size / 2, size)});
  return call.emit(Op::mul, {call.slice(x, dim, 0, size / 2), gate});
}

ValueId shrink(Call& call, bool soft) {
  ValueId x = call.tensor("self");
  double lambda = call.number("lambd");
  ValueId above = call.emit(Op::gt, {x, constant(call, x, lambda)}),
          below = call.emit(Op::lt, {x, constant(call, x, -lambda)});
  ValueId zero = constant(call, x, 0);
  if (!soft) {
    // NaN passes through: it is kept unless it lies inside.
    ValueId inside = call.emit(Op::logical_and, {call.emit(Op::ge, {x, constant(call, x, -lambda)}),
                                                 call.emit(Op::le, {x, constant(call, x, lambda)})});
    return choose(call, inside, zero, x);
  }
  ValueId down = call.emit(Op::sub, {x, constant(call, x, lambda)}),
          up = call.emit(Op::add, {x, constant(call, x, lambda)});
  return choose(call, above, down,
                choose(call, below, up, choose(call, call.emit(Op::is_nan, {x}), x, zero)));
}

ValueId nan_to_num(Call& call) {
  ValueId x = call.tensor("self");
  if (!is_floating(call.type(x).dtype)) return x;
  double largest = call.type(x).dtype == DType::f16    ? 65504.0
                   : call.type(x).dtype == DType::bf16 ? 3.3895313892515355e38
                   : call.type(x).dtype == DType::f64
                       ? std::numeric_limits<double>::max()
                       : static_cast<double>(std::numeric_limits<float>::max());
  ValueId finite = choose(call, call.emit(Op::is_nan, {x}), constant(call, x, call.number("nan", 0)), x);
  ValueId high = call.emit(Op::eq, {finite, constant(call, x, INFINITY)}),
          low = call.emit(Op::eq, {finite, constant(call, x, -INFINITY)});
  finite = choose(call, high, constant(call, x, call.number("posinf", largest)), finite);
  return choose(call, low, constant(call, x, call.number("neginf", -largest)), finite);
}

ValueId logit(Call& call) {
  ValueId x = call.cast(call.tensor("self"), call.output().dtype);
  if (call.has("eps")) x = clamp(call, x, call.number("eps"), 1 - call.number("eps"));
  ValueId rest = call.emit(Op::sub, {constant(call, x, 1), x});
  return call.emit(Op::log, {call.emit(Op::div, {x, rest})});
}

ValueId round_decimals(Call& call) {
  ValueId x = call.tensor("self");
  int64_t decimals = call.integer("decimals");
  ValueId scale = constant(call, x, std::pow(10.0, static_cast<double>(std::abs(decimals))));
  Op there = decimals < 0 ? Op::div : Op::mul, back = decimals < 0 ? Op::mul : Op::div;
  return call.emit(back, {call.emit(Op::round, {call.emit(there, {x, scale})}), scale});
}

ValueId scaled_by(Call& call, Op op, double factor) {
  ValueId x = call.cast(call.tensor("self"), call.output().dtype);
  return call.emit(Op::mul, {call.emit(op, {x}), constant(call, x, factor)});
}

}  // namespace

void add_pointwise(AtenTable& table) {
  struct Named {
    const char* name;
    Op op;
  };
  for (Named entry : {Named{"exp", Op::exp},
                      {"expm1", Op::expm1},
                      {"log", Op::log},
                      {"log1p", Op::log1p},
                      {"sqrt", Op::sqrt},
                      {"rsqrt", Op::rsqrt},
                      {"reciprocal", Op::reciprocal},
                      {"sin", Op::sin},
                      {"cos", Op::cos},
                      {"tan", Op::tan},
                      {"asin", Op::asin},
                      {"acos", Op::acos},
                      {"atan", Op::atan},
                      {"arcsin", Op::asin},
                      {"arccos", Op::acos},
                      {"arctan", Op::atan},
                      {"sinh", Op::sinh},
                      {"cosh", Op::cosh},
                      {"tanh", Op::tanh},
                      {"asinh", Op::asinh},
                      {"acosh", Op::acosh},
                      {"atanh", Op::atanh},
                      {"arcsinh", Op::asinh},
                      {"arccosh", Op::acosh},
                      {"arctanh", Op::atanh},
                      {"sigmoid", Op::sigmoid},
                      {"special_expit", Op::sigmoid},
                      {"erf", Op::erf},
                      {"special_erf", Op::erf},
                      {"erfc", Op::erfc},
                      {"special_erfc", Op::erfc},
                      {"special_expm1", Op::expm1},
                      {"special_log1p", Op::log1p},
                      {"silu", Op::silu},
                      {"mish", Op::mish},
                      {"hardsigmoid", Op::hardsigmoid},
                      {"hardswish", Op::hardswish},
                      {"neg", Op::neg},
                      {"negative", Op::neg},
                      {"relu", Op::relu}})
    table.one(format("aten.{}.default", entry.name), unary(entry.op));
  for (Named entry : {Named{"floor", Op::floor},
                      {"ceil", Op::ceil},
                      {"round", Op::round},
                      {"trunc", Op::trunc},
                      {"fix", Op::trunc}})
    table.one(format("aten.{}.default", entry.name), rounding(entry.op));
  for (const char* name : {"abs", "absolute"})
    table.one(format("aten.{}.default", name), [](Call& call) {
      ValueId x = call.tensor("self");
      return call.type(x).dtype == DType::boolean ? x : call.emit(Op::abs, {x});
    });
  for (const char* name : {"sign", "sgn"})
    table.one(format("aten.{}.default", name), [](Call& call) {
      ValueId x = call.tensor("self");
      return call.type(x).dtype == DType::boolean ? x : call.emit(Op::sign, {x});
    });

  table.one("aten.exp2.default", [](Call& call) {
    ValueId x = call.cast(call.tensor("self"), call.output().dtype);
    return call.emit(Op::exp, {call.emit(Op::mul, {x, constant(call, x, std::numbers::ln2)})});
  });
  table.one("aten.log2.default", [](Call& call) { return scaled_by(call, Op::log, std::numbers::log2e); });
  table.one("aten.log10.default", [](Call& call) { return scaled_by(call, Op::log, std::numbers::log10e); });
  table.one("aten.deg2rad.default", [](Call& call) {
    ValueId x = call.cast(call.tensor("self"), call.output().dtype);
    return call.emit(Op::mul, {x, constant(call, x, std::numbers::pi / 180)});
  });
  table.one("aten.rad2deg.default", [](Call& call) {
    ValueId x = call.cast(call.tensor("self"), call.output().dtype);
    return call.emit(Op::mul, {x, constant(call, x, 180 / std::numbers::pi)});
  });
  table.one("aten.frac.default", [](Call& call) {
    ValueId x = call.tensor("self");
    return call.emit(Op::sub, {x, call.emit(Op::trunc, {x})});
  });
  table.one("aten.square.default", [](Call& call) {
    ValueId x = call.tensor("self");
    return call.emit(Op::mul, {x, x});
  });
  table.one("aten.positive.default", [](Call& call) { return call.tensor("self"); });
  table.one("aten.round.decimals", round_decimals);
  table.one("aten.logit.default", logit);
  table.one("aten.special_logit.default", logit);
  table.one("aten.nan_to_num.default", nan_to_num);
  table.one("aten.sinc.default", [](Call& call) {
    ValueId x = call.cast(call.tensor("self"), call.output().dtype), zero = constant(call, x, 0);
    ValueId angle = call.emit(Op::mul, {x, constant(call, x, std::numbers::pi)});
    return choose(call, call.emit(Op::eq, {x, zero}), constant(call, x, 1),
                  call.emit(Op::div, {call.emit(Op::sin, {angle}), angle}));
  });

  table.one("aten.clamp.default", clamp_call);
  table.one("aten.clip.default", clamp_call);
  table.one("aten.clamp_min.default", clamp_call);
  table.one("aten.clamp_max.default", clamp_call);
  table.one("aten.clamp.Tensor", clamp_tensors);
  table.one("aten.clip.Tensor", clamp_tensors);
  table.one("aten.clamp_min.Tensor", clamp_tensors);
  table.one("aten.clamp_max.Tensor", clamp_tensors);
  table.one("aten.hardtanh.default", [](Call& call) {
    return clamp(call, call.tensor("self"), call.number("min_val"), call.number("max_val"));
  });
  table.one("aten.relu6.default", [](Call& call) { return clamp(call, call.tensor("self"), 0, 6); });

  table.one("aten.gelu.default", [](Call& call) {
    return call.emit(Op::gelu, {call.tensor("self")}, {{"approximate", call.text("approximate")}});
  });
  table.one("aten.softplus.default", [](Call& call) {
    return call.emit(Op::softplus, {call.tensor("self")},
                     {{"beta", call.number("beta")}, {"threshold", call.number("threshold")}});
  });
  table.one("aten.elu.default", [](Call& call) {
    return elu(call, call.number("alpha"), call.number("scale"), call.number("input_scale"));
  });
  table.one("aten.selu.default", [](Call& call) {
    return elu(call, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
  });
  table.one("aten.celu.default", [](Call& call) {
    double alpha = call.number("alpha");
    return elu(call, alpha, 1, 1 / alpha);
  });
  table.one("aten.leaky_relu.default", [](Call& call) {
    return call.emit(Op::leaky_relu, {call.tensor("self")}, {{"slope", call.number("negative_slope")}});
  });
  table.one("aten.rrelu.default", [](Call& call) {
    double lower = call.number("lower"), upper = call.number("upper");
    ValueId x = call.tensor("self");
    if (!call.flag("training")) return call.emit(Op::leaky_relu, {x}, {{"slope", (lower + upper) / 2}});
    ValueId slope = call.random(call.shape(x), call.type(x).dtype, "uniform", lower, upper);
    return choose(call, call.emit(Op::gt, {x, constant(call, x, 0)}), x, call.emit(Op::mul, {slope, x}));
  });
  table.one("aten.prelu.default", prelu);
  table.one("aten.glu.default", glu);
  table.one("aten.log_sigmoid.default", [](Call& call) {
    return call.emit(Op::neg, {call.emit(Op::softplus, {call.emit(Op::neg, {call.tensor("self")})},
                                         {{"threshold", 1e30}})});
  });
  table.one("aten.hardshrink.default", [](Call& call) { return shrink(call, false); });
  table.one("aten.softshrink.default", [](Call& call) { return shrink(call, true); });
  table.one("aten.threshold.default", [](Call& call) {
    ValueId x = call.tensor("self");
    return choose(call, call.emit(Op::le, {x, constant(call, x, call.number("threshold"))}),
                  constant(call, x, call.number("value")), x);
  });

  table.one("aten.isnan.default", [](Call& call) { return call.emit(Op::is_nan, {call.tensor("self")}); });
  table.one("aten.isinf.default", [](Call& call) { return call.emit(Op::is_inf, {call.tensor("self")}); });
  table.one("aten.isfinite.default", [](Call& call) {
    ValueId x = call.tensor("self");
    return call.emit(Op::logical_not,
                     {call.emit(Op::logical_or, {call.emit(Op::is_nan, {x}), call.emit(Op::is_inf, {x})})});
  });
  table.one("aten.isposinf.default", [](Call& call) {
    ValueId x = call.tensor("self");
    return call.emit(Op::eq, {x, constant(call, x, INFINITY)});
  });
  table.one("aten.isneginf.default", [](Call& call) {
    ValueId x = call.tensor("self");
    return call.emit(Op::eq, {x, constant(call, x, -INFINITY)});
  });
  table.one("aten.signbit.default", [](Call& call) { return call.emit(Op::signbit, {call.tensor("self")}); });
  table.one("aten.logical_not.default", [](Call& call) {
    return call.emit(Op::logical_not, {call.cast(call.tensor("self"), DType::boolean)});
  });
  table.one("aten.bitwise_not.default", [](Call& call) {
    ValueId x = call.tensor("self");
    return call.emit(call.type(x).dtype == DType::boolean ? Op::logical_not : Op::bitwise_not, {x});
  });
}

}  // namespace stitch
