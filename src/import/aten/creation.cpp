// Tensors out of nothing, and random ones.
#include <cmath>

#include "import/aten/table.h"

namespace stitch {

namespace {

ComputeOne filled(double value) {
  return [value](Call& call) { return call.full(call.output().shape, call.output().dtype, value); };
}

// new_full, full_like, …: the number may itself be a tensor.
ValueId filled_with(Call& call, const char* name) {
  return call.expand(call.operand(name, call.output().dtype), call.output().shape);
}

ValueId iota(Call& call, int64_t size, double start, double step) {
  return call.emit(Op::iota, {},
                   {{"size", size}, {"dtype", call.output().dtype}, {"start", start}, {"step", step}});
}

ValueId arange(Call& call) {
  DType dtype = call.output().dtype;
  bool whole = is_integer(dtype) && (!call.has("start") || call.is_integer("start")) &&
               (!call.has("step") || call.is_integer("step"));
  constexpr double most = 0x1p53;
  if (whole && (std::fabs(call.number("start", 0)) >= most || std::fabs(call.number("step", 1)) >= most)) {
    ValueId steps = iota(call, call.output().shape[0], 0, 1);
    if (call.has("step")) steps = call.emit(Op::mul, {steps, call.operand("step", dtype)});
    return call.has("start") ? call.emit(Op::add, {steps, call.operand("start", dtype)}) : steps;
  }
  return iota(call, call.output().shape[0], call.number("start", 0), call.number("step", 1));
}

ValueId linspace(Call& call) {
  int64_t steps = call.output().shape[0];
  double start = call.number("start"), end = call.number("end");
  return iota(call, steps, start, steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0);
}

ValueId eye(Call& call) {
  const Shape& shape = call.output().shape;
  ValueId rows = call.emit(Op::iota, {}, {{"size", shape[0]}, {"dtype", DType::i64}}),
          columns = call.emit(Op::iota, {}, {{"size", shape[1]}, {"dtype", DType::i64}});
  return call.cast(call.emit(Op::eq, {call.reshape(rows, {shape[0], 1}), columns}), call.output().dtype);
}

ComputeOne random(std::string distribution, double a, double b) {
  return
      [=](Call& call) { return call.random(call.output().shape, call.output().dtype, distribution, a, b); };
}

ValueId random_integers(Call& call) {
  return call.random(call.output().shape, call.output().dtype, "integers", call.number("low", 0),
                     call.number("high"));
}

// bernoulli(x): x holds the probabilities.
ValueId bernoulli(Call& call) {
  ValueId p = call.tensor("self");
  if (call.has("p")) return call.random(call.shape(p), call.output().dtype, "bernoulli", call.number("p"), 0);
  ValueId u = call.random(call.shape(p), call.type(p).dtype, "uniform", 0, 1);
  return call.cast(call.emit(Op::lt, {u, p}), call.output().dtype);
}

// aten.copy and friends: what self becomes.
ValueId like_self(Call& call, ValueId value) {
  ValueId self = call.tensor("self");
  return call.expand(call.cast(value, call.type(self).dtype), call.shape(self));
}

}  // namespace

void add_creation(AtenTable& table) {
  struct Filled {
    const char* name;
    double value;
  };
  for (Filled entry : {Filled{"zeros", 0},
                       {"_efficientzerotensor", 0},
                       {"ones", 1},
                       {"zeros_like", 0},
                       {"ones_like", 1},
                       {"new_zeros", 0},
                       {"new_ones", 1},
                       {"empty_like", 0},
                       {"new_empty", 0},
                       {"empty_permuted", 0},
                       {"zero", 0}})
    table.one(format("aten.{}.default", entry.name), filled(entry.value));
  table.one("aten.empty.memory_format", filled(0));
  table.one("aten.empty_strided.default", filled(0));
  table.one("aten.new_empty_strided.default", filled(0));
  for (const char* name : {"full", "full_like", "new_full"})
    table.one(format("aten.{}.default", name), [](Call& call) { return filled_with(call, "fill_value"); });
  for (const char* overload : {"Scalar", "Tensor"})
    table.one(format("aten.fill.{}", overload), [](Call& call) {
      ValueId self = call.tensor("self");
      return like_self(call, call.operand("value", call.type(self).dtype));
    });
  table.one("aten.copy.default", [](Call& call) { return like_self(call, call.tensor("src")); });
  table.one("aten.scalar_tensor.default", [](Call& call) { return call.operand("s", call.output().dtype); });

  for (const char* overload : {"default", "start", "start_step"})
    table.one(format("aten.arange.{}", overload), arange);
  table.one("aten.linspace.default", linspace);
  table.one("aten.logspace.default", [](Call& call) {
    ValueId exponents = linspace(call);
    return call.emit(
        Op::exp, {call.emit(Op::mul, {exponents,
                                      call.scalar(call.output().dtype, std::log(call.number("base", 10)))})});
  });
  table.one("aten.eye.default", eye);
  table.one("aten.eye.m", eye);

  table.one("aten.rand.default", random("uniform", 0, 1));
  table.one("aten.rand_like.default", random("uniform", 0, 1));
  table.one("aten.randn.default", random("normal", 0, 1));
  table.one("aten.randn_like.default", random("normal", 0, 1));
  for (const char* name :
       {"randint.default", "randint.low", "randint_like.default", "randint_like.low_dtype"})
    table.one(format("aten.{}", name), random_integers);
  table.one("aten.bernoulli.default", bernoulli);
  table.one("aten.bernoulli.p", bernoulli);
  // The functional names of bernoulli_, uniform_ and normal_.
  table.one("aten.bernoulli.float", bernoulli);
  table.one("aten.uniform.default", [](Call& call) {
    return call.random(call.output().shape, call.output().dtype, "uniform", call.number("from", 0),
                       call.number("to", 1));
  });
  table.one("aten.normal.default", [](Call& call) {
    return call.random(call.output().shape, call.output().dtype, "normal", call.number("mean", 0),
                       call.number("std", 1));
  });
  table.one("aten.normal_functional.default", [](Call& call) {
    return call.random(call.output().shape, call.output().dtype, "normal", call.number("mean", 0),
                       call.number("std", 1));
  });
  table.one("aten.normal.float_float", [](Call& call) {
    return call.random(call.output().shape, call.output().dtype, "normal", call.number("mean", 0),
                       call.number("std", 1));
  });
}

}  // namespace stitch
