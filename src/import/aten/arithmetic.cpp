// Operators of several tensors or numbers, with PyTorch's type promotion written out as casts.
#include <cmath>

#include "import/aten/promotion.h"
#include "import/aten/table.h"

namespace stitch {

namespace {

constexpr const char* overloads[] = {"Tensor", "Scalar"};

// Computed in the result's dtype.
ComputeOne binary(Op op, const char* left = "self", const char* right = "other") {
  return [=](Call& call) {
    DType dtype = call.output().dtype;
    return call.emit(op, {call.operand(left, dtype), call.operand(right, dtype)});
  };
}

// a op alpha * b. On bool, + is or and * is and.
ComputeOne sum_like(Op op, const char* left = "self", const char* right = "other") {
  return [=](Call& call) {
    DType dtype = call.output().dtype;
    ValueId a = call.operand(left, dtype), b = call.operand(right, dtype);
    if (dtype == DType::boolean) return call.emit(Op::logical_or, {a, b});
    if (call.has("alpha") && call.number("alpha") != 1)
      b = call.emit(Op::mul, {b, call.operand("alpha", dtype)});
    return call.emit(op, {a, b});
  };
}

ValueId multiply(Call& call) {
  DType dtype = call.output().dtype;
  ValueId a = call.operand("self", dtype), b = call.operand("other", dtype);
  return call.emit(dtype == DType::boolean ? Op::logical_and : Op::mul, {a, b});
}

ValueId divide(Call& call) {
  std::string rounding = call.has("rounding_mode") ? call.text("rounding_mode") : "none";
  DType dtype = call.output().dtype;
  return call.emit(Op::div, {call.operand("self", dtype), call.operand("other", dtype)},
                   {{"rounding", rounding}});
}

ValueId floor_divide(Call& call) {
  DType dtype = call.output().dtype;
  return call.emit(Op::div, {call.operand("self", dtype), call.operand("other", dtype)},
                   {{"rounding", std::string("floor")}});
}

// Compared in the dtype both meet in; the result is bool.
ComputeOne comparison(Op op) {
  return [op](Call& call) {
    DType dtype = common_dtype(call, {"self", "other"});
    return call.emit(op, {call.operand("self", dtype), call.operand("other", dtype)});
  };
}

ComputeOne logical(Op op) {
  return [op](Call& call) {
    return call.emit(op, {call.operand("self", DType::boolean), call.operand("other", DType::boolean)});
  };
}

ComputeOne bitwise(Op on_integers, Op on_booleans) {
  return [=](Call& call) {
    DType dtype = call.output().dtype;
    return call.emit(dtype == DType::boolean ? on_booleans : on_integers,
                     {call.operand("self", dtype), call.operand("other", dtype)});
  };
}

ValueId power(Call& call) {
  DType dtype = call.output().dtype;
  const char* exponent = "exponent";
  // Small whole exponents as products: exact, and what fusions like to see.
  if (!call.is_tensor(exponent)) {
    double e = call.number(exponent);
    ValueId x = call.operand("self", dtype);
    if (e == 1) return x;
    if (e == 2) return call.emit(Op::mul, {x, x});
    if (e == 3) return call.emit(Op::mul, {call.emit(Op::mul, {x, x}), x});
    if (e == 0.5 && is_floating(dtype)) return call.emit(Op::sqrt, {x});
    if (e == -1 && is_floating(dtype)) return call.emit(Op::reciprocal, {x});
    if (e == -0.5 && is_floating(dtype)) return call.emit(Op::rsqrt, {x});
  }
  return call.emit(Op::pow, {call.operand("self", dtype), call.operand(exponent, dtype)});
}

ValueId where(Call& call) {
  DType dtype = call.output().dtype;
  return call.emit(Op::where, {call.cast(call.tensor("condition"), DType::boolean),
                               call.operand("self", dtype), call.operand("other", dtype)});
}

ValueId masked_fill(Call& call) {
  ValueId x = call.tensor("self");
  return call.emit(Op::where, {call.cast(call.tensor("mask"), DType::boolean),
                               call.operand("value", call.type(x).dtype), x});
}

// self + value * (tensor1 op tensor2)
ComputeOne accumulate(Op op) {
  return [op](Call& call) {
    DType dtype = call.output().dtype;
    ValueId product = call.emit(op, {call.operand("tensor1", dtype), call.operand("tensor2", dtype)});
    if (double value = call.number("value", 1); value != 1)
      product = call.emit(Op::mul, {product, call.scalar(dtype, value)});
    return call.emit(Op::add, {call.operand("self", dtype), product});
  };
}

ValueId lerp(Call& call) {
  DType dtype = call.output().dtype;
  ValueId start = call.operand("self", dtype), end = call.operand("end", dtype);
  return call.emit(
      Op::add,
      {start, call.emit(Op::mul, {call.operand("weight", dtype), call.emit(Op::sub, {end, start})})});
}

ValueId xlogy(Call& call) {
  DType dtype = call.output().dtype;
  ValueId x = call.operand("self", dtype), y = call.operand("other", dtype), zero = call.scalar(dtype, 0);
  ValueId product = call.emit(Op::mul, {x, call.emit(Op::log, {y})});
  ValueId kept = call.emit(Op::where, {call.emit(Op::eq, {x, zero}), zero, product});
  return call.emit(Op::where, {call.emit(Op::is_nan, {y}), y, kept});
}

ValueId equal_infinities(Call& call, ValueId a, ValueId b) {
  return call.emit(Op::logical_and, {call.emit(Op::is_inf, {a}), call.emit(Op::eq, {a, b})});
}

ValueId logaddexp(Call& call) {
  DType dtype = call.output().dtype;
  ValueId a = call.operand("self", dtype), b = call.operand("other", dtype);
  ValueId top = call.emit(Op::maximum, {a, b}),
          gap = call.emit(Op::neg, {call.emit(Op::abs, {call.emit(Op::sub, {a, b})})});
  ValueId sum = call.emit(Op::add, {top, call.emit(Op::log1p, {call.emit(Op::exp, {gap})})});
  // Of two equal infinities the difference is NaN.
  return call.emit(Op::where, {equal_infinities(call, a, b), a, sum});
}

// sqrt(a^2 + b^2) without overflow on the way; infinite with either, even if the other is NaN.
ValueId hypot(Call& call) {
  DType dtype = call.output().dtype;
  ValueId a = call.emit(Op::abs, {call.operand("self", dtype)}),
          b = call.emit(Op::abs, {call.operand("other", dtype)});
  ValueId large = call.emit(Op::maximum, {a, b}), small = call.emit(Op::minimum, {a, b});
  ValueId share = call.emit(Op::div, {small, large});
  ValueId root =
      call.emit(Op::sqrt, {call.emit(Op::add, {call.scalar(dtype, 1), call.emit(Op::mul, {share, share})})});
  ValueId none = call.emit(Op::eq, {large, call.scalar(dtype, 0)});
  ValueId infinite = call.emit(Op::logical_or, {call.emit(Op::is_inf, {a}), call.emit(Op::is_inf, {b})});
  ValueId finite = call.emit(Op::where, {none, large, call.emit(Op::mul, {large, root})});
  return call.emit(Op::where, {infinite, call.scalar(dtype, INFINITY), finite});
}

ValueId copysign(Call& call) {
  DType dtype = call.output().dtype;
  ValueId magnitude = call.emit(Op::abs, {call.operand("self", dtype)});
  ValueId negative = call.emit(Op::signbit, {call.operand("other", dtype)});
  return call.emit(Op::where, {negative, call.emit(Op::neg, {magnitude}), magnitude});
}

}  // namespace

void add_arithmetic(AtenTable& table) {
  for (const char* overload : overloads) {
    auto name = [&](const char* op) { return format("aten.{}.{}", op, overload); };
    table.one(name("add"), sum_like(Op::add));
    table.one(name("sub"), sum_like(Op::sub));
    table.one(name("subtract"), sum_like(Op::sub));
    table.one(name("rsub"), sum_like(Op::sub, "other", "self"));
    table.one(name("mul"), multiply);
    table.one(name("multiply"), multiply);
    table.one(name("div"), divide);
    table.one(name("divide"), divide);
    table.one(name("true_divide"), divide);
    table.one(format("aten.div.{}_mode", overload), divide);
    table.one(format("aten.divide.{}_mode", overload), divide);
    table.one(name("fmod"), binary(Op::fmod));
    table.one(name("remainder"), binary(Op::remainder));
    struct Compared {
      const char *short_name, *long_name;
      Op op;
    };
    for (Compared c : {Compared{"eq", nullptr, Op::eq},
                       {"ne", "not_equal", Op::ne},
                       {"lt", "less", Op::lt},
                       {"le", "less_equal", Op::le},
                       {"gt", "greater", Op::gt},
                       {"ge", "greater_equal", Op::ge}}) {
      table.one(name(c.short_name), comparison(c.op));
      if (c.long_name) table.one(name(c.long_name), comparison(c.op));
    }
    table.one(name("bitwise_and"), bitwise(Op::bitwise_and, Op::logical_and));
    table.one(name("bitwise_or"), bitwise(Op::bitwise_or, Op::logical_or));
    table.one(name("bitwise_xor"), bitwise(Op::bitwise_xor, Op::logical_xor));
    table.one(name("__and__"), bitwise(Op::bitwise_and, Op::logical_and));
    table.one(name("__or__"), bitwise(Op::bitwise_or, Op::logical_or));
    table.one(name("__xor__"), bitwise(Op::bitwise_xor, Op::logical_xor));
    table.one(name("__lshift__"), binary(Op::shift_left));
    table.one(name("__rshift__"), binary(Op::shift_right));
    table.one(format("aten.masked_fill.{}", overload), masked_fill);
    table.one(format("aten.lerp.{}", overload), lerp);
  }
  for (const char* overload : {"Tensor", "Tensor_Scalar", "Scalar_Tensor"}) {
    table.one(format("aten.bitwise_left_shift.{}", overload), binary(Op::shift_left));
    table.one(format("aten.bitwise_right_shift.{}", overload), binary(Op::shift_right));
  }
  table.one("aten.remainder.Scalar_Tensor", binary(Op::remainder));
  table.one("aten.floor_divide.default", floor_divide);
  table.one("aten.floor_divide.Scalar", floor_divide);
  table.one("aten.floor_divide.Tensor", floor_divide);  // of floor_divide_ alone
  for (const char* overload : {"Tensor_Scalar", "Tensor_Tensor", "Scalar", "Tensor"}) {
    table.one(format("aten.pow.{}", overload), power);
    table.one(format("aten.float_power.{}", overload), power);
  }
  for (const char* name : {"atan2", "arctan2"}) table.one(format("aten.{}.default", name), binary(Op::atan2));
  table.one("aten.minimum.default", binary(Op::minimum));
  table.one("aten.maximum.default", binary(Op::maximum));
  table.one("aten.min.other", binary(Op::minimum));
  table.one("aten.max.other", binary(Op::maximum));
  // fmin and fmax prefer the number where the other is NaN.
  struct Preferring {
    const char* name;
    Op op;
  };
  for (Preferring entry : {Preferring{"fmin", Op::minimum}, {"fmax", Op::maximum}})
    table.one(format("aten.{}.default", entry.name), [op = entry.op](Call& call) {
      DType dtype = call.output().dtype;
      ValueId a = call.operand("self", dtype), b = call.operand("other", dtype);
      ValueId both = call.emit(op, {a, b});
      ValueId kept = call.emit(Op::where, {call.emit(Op::is_nan, {a}), b, both});
      return call.emit(Op::where, {call.emit(Op::is_nan, {b}), a, kept});
    });
  table.one("aten.hypot.default", hypot);
  for (const char* overload : overloads) table.one(format("aten.copysign.{}", overload), copysign);
  table.one("aten.logical_and.default", logical(Op::logical_and));
  table.one("aten.logical_or.default", logical(Op::logical_or));
  table.one("aten.logical_xor.default", logical(Op::logical_xor));
  for (const char* overload : {"self", "ScalarSelf", "ScalarOther", "Scalar"})
    table.one(format("aten.where.{}", overload), where);
  table.one("aten.addcmul.default", accumulate(Op::mul));
  table.one("aten.addcdiv.default", accumulate(Op::div));
  for (const char* overload : {"Tensor", "Scalar_Self", "Scalar_Other"})
    table.one(format("aten.xlogy.{}", overload), xlogy);
  table.one("aten.logaddexp.default", logaddexp);
}

}  // namespace stitch
