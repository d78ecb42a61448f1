// Complex numbers as pairs of real ones. A complex tensor's value has one dimension more, of size 2; views of
// it are views of that value, and every other operator is written with real ones.
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/text.h"
#include "import/aten/emit.h"

namespace stitch {

namespace pairs {

namespace {

// A result: {real, imaginary}, or one real tensor.
using ComplexCompute = std::function<Values(Call&)>;

ValueId zero_like(Call& call, ValueId x) { return call.full(call.shape(x), call.type(x).dtype, 0); }

// Both parts, zeros where there is none.
Values both(Call& call, const char* name) {
  Values z = call.parts(name);
  if (z[1] == ValueId::none) z[1] = zero_like(call, z[0]);
  return z;
}

Values product(Call& call, const Values& a, const Values& b) {
  if (a[1] == ValueId::none) return {mul(call, a[0], b[0]), mul(call, a[0], b[1])};
  if (b[1] == ValueId::none) return {mul(call, a[0], b[0]), mul(call, a[1], b[0])};
  return {sub(call, mul(call, a[0], b[0]), mul(call, a[1], b[1])),
          add(call, mul(call, a[0], b[1]), mul(call, a[1], b[0]))};
}

// sqrt(x^2 + y^2) without overflow on the way.
ValueId length(Call& call, ValueId x, ValueId y) {
  DType dtype = call.type(x).dtype;
  ValueId a = call.emit(Op::abs, {x}), b = call.emit(Op::abs, {y});
  ValueId large = call.emit(Op::maximum, {a, b}), small = call.emit(Op::minimum, {a, b});
  ValueId plain = call.emit(
      Op::logical_or, {call.emit(Op::eq, {large, call.scalar(dtype, 0)}), call.emit(Op::is_inf, {large})});
  ValueId share = call.emit(Op::div, {small, large});
  ValueId scaled =
      mul(call, large, call.emit(Op::sqrt, {add(call, call.scalar(dtype, 1), mul(call, share, share))}));
  return call.emit(Op::where, {plain, large, scaled});
}

// By the larger part of the divisor, as Smith does: squares don't overflow.
Values quotient(Call& call, const Values& a, const Values& b) {
  if (b[1] == ValueId::none)
    return {call.emit(Op::div, {a[0], b[0]}),
            a[1] == ValueId::none ? a[1] : call.emit(Op::div, {a[1], b[0]})};
  ValueId wide = call.emit(Op::ge, {call.emit(Op::abs, {b[0]}), call.emit(Op::abs, {b[1]})});
  ValueId large = call.emit(Op::where, {wide, b[0], b[1]}), small = call.emit(Op::where, {wide, b[1], b[0]});
  ValueId share = call.emit(Op::div, {small, large});
  ValueId divisor = add(call, large, mul(call, small, share));
  ValueId x = a[0], y = a[1] == ValueId::none ? zero_like(call, a[0]) : a[1];
  // wide: ((x + y s) / d, (y - x s) / d); else ((x s + y) / d, (y s - x) / d)
  ValueId xs = mul(call, x, share), ys = mul(call, y, share);
  ValueId re = call.emit(Op::where, {wide, add(call, x, ys), add(call, xs, y)});
  ValueId im = call.emit(Op::where, {wide, sub(call, y, xs), sub(call, ys, x)});
  return {call.emit(Op::div, {re, divisor}), call.emit(Op::div, {im, divisor})};
}

Values exponential(Call& call, const Values& z) {
  ValueId size = call.emit(Op::exp, {z[0]});
  return {mul(call, size, call.emit(Op::cos, {z[1]})), mul(call, size, call.emit(Op::sin, {z[1]}))};
}

Values logarithm(Call& call, const Values& z) {
  return {call.emit(Op::log, {length(call, z[0], z[1])}), call.emit(Op::atan2, {z[1], z[0]})};
}

Values square_root(Call& call, const Values& z) {
  DType dtype = call.type(z[0]).dtype;
  ValueId size = length(call, z[0], z[1]), half = call.scalar(dtype, 0.5), zero = call.scalar(dtype, 0);
  auto root = [&](ValueId x) {
    return call.emit(Op::sqrt, {mul(call, half, call.emit(Op::maximum, {x, zero}))});
  };
  ValueId im = root(sub(call, size, z[0]));
  return {root(add(call, size, z[0])),
          call.emit(Op::where, {call.emit(Op::signbit, {z[1]}), call.emit(Op::neg, {im}), im})};
}

Values power(Call& call) {
  if (call.is_tensor("exponent") || !call.is_tensor("self")) {
    Values base = both(call, "self"), exponent = both(call, "exponent");
    return exponential(call, product(call, logarithm(call, base), exponent));
  }
  Values z = both(call, "self");
  Values parts = call.parts("exponent");
  if (parts[1] == ValueId::none) {
    double e = call.number("exponent");
    if (e == 1) return z;
    if (e == 0.5) return square_root(call, z);
    if (e == std::floor(e) && e >= 2 && e <= 16) {
      Values out = z;
      for (int i = 1; i < static_cast<int>(e); ++i) out = product(call, out, z);
      return out;
    }
    parts[1] = zero_like(call, parts[0]);
  }
  return exponential(call, product(call, logarithm(call, z), parts));
}

// The real operator, on each part of every complex argument. `values`: real floating arguments are values
// too, whose imaginary part is 0; else they are left as they are.
Values by_parts(Call& call, const Compute& compute) {
  Values out;
  for (size_t part : {0, 1}) {
    auto one = std::make_unique<Call>(call);
    auto give = [&](const std::string& name, Values values) {
      one = std::make_unique<Call>(one->with(name, std::move(values)));
    };
    for (const std::string& name : call.names()) {
      if (!call.is_complex(name.c_str())) {
        if (!call.is_tensor(name.c_str())) continue;
        ValueId x = call.tensor(name.c_str());
        if (part == 1 && is_floating(call.type(x).dtype)) give(name, {zero_like(call, x)});
        continue;
      }
      Values whole =
          call.is_list(name.c_str()) ? call.tensors(name.c_str()) : Values{call.tensor(name.c_str())};
      const auto& argument = (*call.node().args)[name];
      Values parts;
      for (size_t i = 0; i < whole.size(); ++i) {
        const auto& item = call.is_list(name.c_str()) ? argument[i] : argument;
        bool complex = call.lowering().is_complex(item["value"].get<std::string>());
        if (complex)
          parts.push_back(call.parts_of(whole[i])[part]);
        else
          parts.push_back(part == 0 ? whole[i] : zero_like(call, whole[i]));
      }
      give(name, parts);
    }
    out.push_back(compute(*one)[0]);
  }
  return out;
}

// a op b for an operator that is linear in both arguments.
ComplexCompute bilinear(const char* left, const char* right) {
  return [=](Call& call) {
    const Compute& compute = *aten_table().compute(call.node().op);
    Values a = call.parts(left), b = call.parts(right);
    auto run = [&](ValueId x, ValueId y) {
      DType dtype = call.output().dtype;
      Call one = call.with(left, {call.cast(x, dtype)}).with(right, {call.cast(y, dtype)});
      return compute(one)[0];
    };
    if (a[1] == ValueId::none) return Values{run(a[0], b[0]), run(a[0], b[1])};
    if (b[1] == ValueId::none) return Values{run(a[0], b[0]), run(a[1], b[0])};
    return Values{sub(call, run(a[0], b[0]), run(a[1], b[1])), add(call, run(a[0], b[1]), run(a[1], b[0]))};
  };
}

// Linear layers and convolutions: bilinear in input and weight, with a bias added to each part once.
Values layer(Call& call) {
  const Compute& compute = *aten_table().compute(call.node().op);
  Values x = both(call, "input"), weight = both(call, "weight");
  Values bias = {ValueId::none, ValueId::none};
  if (call.has("bias")) bias = both(call, "bias");
  auto run = [&](ValueId a, ValueId b, ValueId addend) {
    Call product = call.with("input", {a}).with("weight", {b});
    if (addend == ValueId::none) return compute(product)[0];
    Call sum = product.with("bias", {addend});
    return compute(sum)[0];
  };
  ValueId nothing = bias[0] == ValueId::none ? bias[0] : zero_like(call, bias[0]);
  return {sub(call, run(x[0], weight[0], bias[0]), run(x[1], weight[1], nothing)),
          add(call, run(x[0], weight[1], bias[1]), run(x[1], weight[0], nothing))};
}

// A norm is that of the absolute values.
Values norm(Call& call) {
  Values z = both(call, "self");
  Call lengths = call.with("self", {length(call, z[0], z[1])});
  return {(*aten_table().compute(call.node().op))(lengths)[0]};
}

Values einsum(Call& call) {
  const Compute& compute = *aten_table().compute(call.node().op);
  Values whole = call.tensors("tensors");
  const auto& argument = (*call.node().args)["tensors"];
  if (whole.size() > 2)
    refuse("einsum of more than two complex tensors is not supported", "contract them in pairs");
  std::vector<Values> parts;
  for (size_t i = 0; i < whole.size(); ++i) {
    bool complex = call.lowering().is_complex(argument[i]["value"].get<std::string>());
    parts.push_back(complex ? call.parts_of(whole[i]) : Values{whole[i], ValueId::none});
  }
  auto run = [&](Values operands) {
    Call one = call.with("tensors", std::move(operands));
    return compute(one)[0];
  };
  if (parts.size() == 1) return {run({parts[0][0]}), run({parts[0][1]})};
  const Values &a = parts[0], &b = parts[1];
  if (a[1] == ValueId::none) return {run({a[0], b[0]}), run({a[0], b[1]})};
  if (b[1] == ValueId::none) return {run({a[0], b[0]}), run({a[1], b[0]})};
  return {sub(call, run({a[0], b[0]}), run({a[1], b[1]})), add(call, run({a[0], b[1]}), run({a[1], b[0]}))};
}

Values sum_like(Call& call, Op op, const char* left, const char* right) {
  Values a = both(call, left), b = both(call, right);
  if (double alpha = call.number("alpha", 1); alpha != 1)
    for (ValueId& part : b) part = mul(call, part, call.scalar(call.type(part).dtype, alpha));
  return {call.emit(op, {a[0], b[0]}), call.emit(op, {a[1], b[1]})};
}

Values compared(Call& call, bool equal) {
  Values a = both(call, "self"), b = both(call, "other");
  Op op = equal ? Op::eq : Op::ne;
  return {call.emit(equal ? Op::logical_and : Op::logical_or,
                    {call.emit(op, {a[0], b[0]}), call.emit(op, {a[1], b[1]})})};
}

// One of the parts that satisfies a real test makes the number satisfy it.
ComplexCompute tested(Op op) {
  return [op](Call& call) {
    Values z = both(call, "self");
    return Values{call.emit(Op::logical_or, {call.emit(op, {z[0]}), call.emit(op, {z[1]})})};
  };
}

Values filled(Call& call, double value) {
  ValueId re = call.full(call.output().shape, call.output().dtype, value);
  return {re, call.full(call.output().shape, call.output().dtype, 0)};
}

std::map<std::string, ComplexCompute, std::less<>> make_table() {
  std::map<std::string, ComplexCompute, std::less<>> t;
  auto unary = [&](const char* name, Values (*function)(Call&, const Values&)) {
    t[format("aten.{}.default", name)] = [function](Call& call) {
      return function(call, both(call, "self"));
    };
  };
  for (const char* overload : {"Tensor", "Scalar"}) {
    auto name = [&](const char* op) { return format("aten.{}.{}", op, overload); };
    for (const char* op : {"add"})
      t[name(op)] = [](Call& call) { return sum_like(call, Op::add, "self", "other"); };
    for (const char* op : {"sub", "subtract"})
      t[name(op)] = [](Call& call) { return sum_like(call, Op::sub, "self", "other"); };
    t[name("rsub")] = [](Call& call) { return sum_like(call, Op::sub, "other", "self"); };
    for (const char* op : {"mul", "multiply"})
      t[name(op)] = [](Call& call) { return product(call, call.parts("self"), call.parts("other")); };
    for (const char* op : {"div", "divide", "true_divide"})
      t[name(op)] = [](Call& call) { return quotient(call, call.parts("self"), call.parts("other")); };
    t[name("eq")] = [](Call& call) { return compared(call, true); };
    t[name("ne")] = t[name("not_equal")] = [](Call& call) { return compared(call, false); };
  }
  for (const char* overload : {"Tensor_Scalar", "Tensor_Tensor", "Scalar"})
    t[format("aten.pow.{}", overload)] = power;
  unary("exp", exponential);
  unary("log", logarithm);
  unary("sqrt", square_root);
  unary("square", [](Call& call, const Values& z) { return product(call, z, z); });
  unary("reciprocal", [](Call& call, const Values& z) {
    DType dtype = call.type(z[0]).dtype;
    return quotient(call, {call.full(call.shape(z[0]), dtype, 1), ValueId::none}, z);
  });
  for (const char* name : {"abs", "absolute"})
    unary(name, [](Call& call, const Values& z) { return Values{length(call, z[0], z[1])}; });
  unary("angle", [](Call& call, const Values& z) { return Values{call.emit(Op::atan2, {z[1], z[0]})}; });
  for (const char* name : {"_conj", "conj", "conj_physical", "_conj_physical"})
    unary(name, [](Call& call, const Values& z) { return Values{z[0], call.emit(Op::neg, {z[1]})}; });
  for (const char* name : {"mH", "matrix_H", "adjoint"})
    unary(name, [](Call& call, const Values& z) {
      std::vector<int64_t> dims(call.shape(z[0]).size());
      std::iota(dims.begin(), dims.end(), 0);
      std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
      return Values{call.permute(z[0], dims), call.emit(Op::neg, {call.permute(z[1], dims)})};
    });
  for (const char* name : {"sgn"})
    unary(name, [](Call& call, const Values& z) {
      ValueId size = length(call, z[0], z[1]);
      ValueId none = call.emit(Op::eq, {size, call.scalar(call.type(size).dtype, 0)});
      auto part = [&](ValueId x) { return call.emit(Op::where, {none, x, call.emit(Op::div, {x, size})}); };
      return Values{part(z[0]), part(z[1])};
    });
  unary("sin", [](Call& call, const Values& z) {
    return Values{mul(call, call.emit(Op::sin, {z[0]}), call.emit(Op::cosh, {z[1]})),
                  mul(call, call.emit(Op::cos, {z[0]}), call.emit(Op::sinh, {z[1]}))};
  });
  unary("cos", [](Call& call, const Values& z) {
    return Values{mul(call, call.emit(Op::cos, {z[0]}), call.emit(Op::cosh, {z[1]})),
                  call.emit(Op::neg, {mul(call, call.emit(Op::sin, {z[0]}), call.emit(Op::sinh, {z[1]}))})};
  });
  t["aten.complex.default"] = [](Call& call) {
    DType dtype = call.output().dtype;
    return Values{call.expand(call.operand("real", dtype), call.output().shape),
                  call.expand(call.operand("imag", dtype), call.output().shape)};
  };
  t["aten.polar.default"] = [](Call& call) {
    DType dtype = call.output().dtype;
    ValueId size = call.operand("abs", dtype), angle = call.operand("angle", dtype);
    return Values{mul(call, size, call.emit(Op::cos, {angle})), mul(call, size, call.emit(Op::sin, {angle}))};
  };
  struct Product {
    const char *name, *left, *right;
  };
  for (Product p : {Product{"matmul", "self", "other"},
                    {"mm", "self", "mat2"},
                    {"bmm", "self", "mat2"},
                    {"mv", "self", "vec"},
                    {"dot", "self", "tensor"},
                    {"outer", "self", "vec2"},
                    {"kron", "self", "other"}})
    t[format("aten.{}.default", p.name)] = bilinear(p.left, p.right);
  t["aten.einsum.default"] = einsum;
  for (const char* name : {"linear.default", "conv1d.default", "conv2d.default", "conv3d.default",
                           "conv1d.padding", "conv2d.padding"})
    t[format("aten.{}", name)] = layer;
  for (const char* name : {"linalg_vector_norm.default", "norm.Scalar", "norm.ScalarOpt_dim"})
    t[format("aten.{}", name)] = norm;
  t["aten.isnan.default"] = tested(Op::is_nan);
  t["aten.isinf.default"] = tested(Op::is_inf);
  struct Filled {
    const char* name;
    double value;
  };
  for (Filled f : {Filled{"zeros.default", 0},
                   {"zeros_like.default", 0},
                   {"new_zeros.default", 0},
                   {"empty.memory_format", 0},
                   {"empty_like.default", 0},
                   {"new_empty.default", 0},
                   {"zero.default", 0},
                   {"ones.default", 1},
                   {"ones_like.default", 1},
                   {"new_ones.default", 1}})
    t[format("aten.{}", f.name)] = [value = f.value](Call& call) { return filled(call, value); };
  for (const char* name :
       {"full.default", "full_like.default", "new_full.default", "fill.Scalar", "fill.Tensor"})
    t[format("aten.{}", name)] = [](Call& call) {
      Values z = both(call, call.has("value") ? "value" : "fill_value");
      return Values{call.expand(z[0], call.output().shape), call.expand(z[1], call.output().shape)};
    };
  // To complex, between complex dtypes, and to real: the imaginary part is dropped.
  for (const char* name : {"to.dtype", "to.dtype_layout", "to.device", "to.other", "_to_copy.default",
                           "clone.default", "contiguous.default", "lift_fresh_copy.default", "copy.default",
                           "type_as.default", "view_copy.default"})
    t[format("aten.{}", name)] = [](Call& call) {
      // Also copy_, an assignment to a slice: what it reads is not what it is called on.
      Values z = call.parts(call.has("src") ? "src" : "self");
      bool complex = call.node().outputs.at(0).complex;
      for (ValueId& part : z)
        if (part != ValueId::none)
          part = call.expand(call.cast(part, call.output().dtype), call.output().shape);
      if (!complex) return Values{z[0]};
      if (z[1] == ValueId::none) z[1] = zero_like(call, z[0]);
      return z;
    };
  for (const char* name : {"reshape.default", "flatten.using_ints", "reshape_as.default", "ravel.default"})
    t[format("aten.{}", name)] = [](Call& call) {
      Values z = call.parts("self");
      for (ValueId& part : z) part = call.reshape(part, call.output().shape);
      return z;
    };
  return t;
}

// Operators that move elements, or are linear: each part by itself.
constexpr const char* movers[] = {"aten.neg.default",
                                  "aten.negative.default",
                                  "aten.sum.default",
                                  "aten.sum.dim_IntList",
                                  "aten.mean.default",
                                  "aten.mean.dim",
                                  "aten.cumsum.default",
                                  "aten.cat.default",
                                  "aten.concat.default",
                                  "aten.concatenate.default",
                                  "aten.stack.default",
                                  "aten.hstack.default",
                                  "aten.vstack.default",
                                  "aten.flip.default",
                                  "aten.fliplr.default",
                                  "aten.flipud.default",
                                  "aten.roll.default",
                                  "aten.repeat.default",
                                  "aten.tile.default",
                                  "aten.repeat_interleave.self_int",
                                  "aten.index.Tensor",
                                  "aten.index_select.default",
                                  "aten.gather.default",
                                  "aten.take_along_dim.default",
                                  "aten.embedding.default",
                                  "aten.index_put.default",
                                  "aten.index_add.default",
                                  "aten.index_copy.default",
                                  "aten.constant_pad_nd.default",
                                  "aten.pad.default",
                                  "aten.tril.default",
                                  "aten.triu.default",
                                  "aten.diag_embed.default",
                                  "aten.diag.default",
                                  "aten.rot90.default",
                                  "aten.where.self",
                                  "aten.slice_scatter.default",
                                  "aten.select_scatter.default",
                                  "aten.fft_fftshift.default",
                                  "aten.fft_ifftshift.default",
                                  "aten.broadcast_tensors.default"};

const ComplexCompute* complex_compute(std::string_view op) {
  static const auto table = make_table();
  auto found = table.find(op);
  return found == table.end() ? nullptr : &found->second;
}

void bind_result(Lowering& lowering, Call& call, const AtenTensor& output, const Values& z) {
  if (!output.complex) return lowering.bind(output, call.reshape(z[0], output.type.shape));
  ValueId im = z.size() > 1 && z[1] != ValueId::none ? z[1] : zero_like(call, z[0]);
  lowering.bind(output,
                call.joined(call.expand(z[0], output.type.shape), call.expand(im, output.type.shape)));
}

// Views whose result is of the other kind.
bool lower_reinterpreted(Lowering& lowering, Call& call) {
  const AtenNode& node = call.node();
  if (node.op == "aten.view_as_real.default" || node.op == "aten.view_as_complex.default") {
    lowering.bind_view(node.outputs[0], call.tensor_name("self"), {});
    return true;
  }
  bool real = node.op == "aten.real.default", imaginary = node.op == "aten.imag.default";
  if (!real && !imaginary && node.op != "aten.select.int") return false;
  if (!(real || imaginary) || !call.is_complex("self")) return false;
  int64_t last = std::ssize(node.outputs[0].type.shape), which = imaginary;
  View view = {{Op::slice, {{"dim", last}, {"start", which}, {"end", which + 1}, {"step", int64_t{1}}}},
               {Op::reshape, {{"shape", node.outputs[0].type.shape}}}};
  lowering.bind_view(node.outputs[0], call.tensor_name("self"), view);
  return true;
}

std::optional<Values> computed(Call& call, const std::string& op) {
  if (const ComplexCompute* compute = complex_compute(op)) return (*compute)(call);
  if (std::ranges::find(movers, op) == std::end(movers)) return std::nullopt;
  const Compute* compute = aten_table().compute(op);
  return compute ? std::optional(by_parts(call, *compute)) : std::nullopt;
}

}  // namespace

bool concerned(const Lowering& lowering, const AtenNode& node) {
  for (const AtenTensor& output : node.outputs)
    if (output.complex) return true;
  auto complex = [&](const Json& item) {
    return item.is_object() && item.contains("value") && item["value"].is_string() &&
           lowering.is_complex(item["value"].get<std::string>());
  };
  for (const auto& [name, value] : node.args->items())
    if (value.is_array() ? std::any_of(value.begin(), value.end(), complex) : complex(value)) return true;
  return false;
}

void lower(Lowering& lowering, Call& call) {
  const AtenNode& node = call.node();
  if (lower_reinterpreted(lowering, call)) return;
  // Before the views: of a real tensor, _conj is one.
  if (const ComplexCompute* compute = complex_compute(node.op))
    return bind_result(lowering, call, node.outputs[0], (*compute)(call));
  if (const Alias* alias = aten_table().alias(node.op)) {
    std::vector<View> views = alias->views(call);
    for (size_t i = 0; i < std::min(views.size(), node.outputs.size()); ++i)
      lowering.bind_view(node.outputs[i], call.tensor_name(alias->base), views[i]);
    return;
  }
  // The Fourier transforms know both kinds themselves.
  if (node.op.starts_with("aten.fft_") || node.op.find("stft.") != std::string::npos ||
      node.op.starts_with("aten._fft_"))
    if (const Compute* compute = aten_table().compute(node.op))
      if (node.op.find("shift") == std::string::npos)
        return bind_result(lowering, call, node.outputs[0], (*compute)(call));
  if (auto z = computed(call, node.op)) return bind_result(lowering, call, node.outputs[0], *z);
  if (auto functional = functional_name(node.op))
    if (auto z = computed(call, *functional)) {
      std::string self = call.tensor_name("self");
      const TensorType& type = lowering.aten_type(self);
      if (!lowering.is_complex(self))
        refuse(format("{}: a complex number is written to a real tensor", node.op));
      if (z->size() < 2 || (*z)[1] == ValueId::none) z->resize(1), z->push_back(zero_like(call, (*z)[0]));
      lowering.write(self, call.joined(call.expand((*z)[0], type.shape), call.expand((*z)[1], type.shape)));
      if (!node.outputs.empty() && !node.outputs[0].name.empty())
        lowering.bind_view(node.outputs[0], self, {});
      return;
    }
  refuse(format("the operator {} is not supported on complex numbers", node.op),
         "write it with the real and imaginary parts (x.real, x.imag) and torch.complex");
}

}  // namespace pairs

bool concerns_complex(const Lowering& lowering, const AtenNode& node) {
  return pairs::concerned(lowering, node);
}

void lower_complex(Lowering& lowering, Call& call) { pairs::lower(lowering, call); }

}  // namespace stitch
