#include "verify/adequacy/neighbours.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oracle/interpreter.h"

namespace stitch::verifier {

namespace {

using oracle::Tensor;

constexpr double infinity = std::numeric_limits<double>::infinity();
// Of FP32: e^x overflows above, and is zero below.
constexpr double most_exponent = 88.73, least_exponent = -104;

int64_t through_single(int64_t x) { return static_cast<int64_t>(static_cast<float>(x)); }
int64_t through_int(int64_t x) { return static_cast<int32_t>(x); }
double at_most_6(double x) { return std::min(x, 6.0); }
double at_least_0(double x) { return std::fmax(x, 0); }
double at_most_0(double x) { return std::fmin(x, 0); }
// Numbers that a search for the largest is begun at.
double at_least_far_below(double x) { return std::fmax(x, -1000); }
double at_most_far_above(double x) { return std::fmin(x, 1000); }
double half_away(double x) { return std::round(x); }
double half_up(double x) { return std::floor(x + 0.5); }
double to_nearest(double x) { return std::nearbyint(x); }
double one_less_below_zero(double x) { return std::trunc(x) - (x < 0); }
double next_whole(double x) { return std::floor(x) + 1; }
double never_zero(double x) { return x >= 0 ? 1 : -1; }
double without_maximum(double x) { return x > most_exponent ? infinity : x; }
double without_low_maximum(double x) { return x < least_exponent ? -infinity : x; }
// The angle is reduced by 2 pi as FP32 has it.
double reduced(double x) {
  constexpr double turn = 6.2831854820251465;
  return x - std::nearbyint(x / turn) * turn;
}
double tanh_by_exponentials(double x) {
  return std::fabs(x) > most_exponent / 2 ? std::nan("") : std::tanh(x);
}
double leaks(double x) { return x > 0 ? x : 0.01 * x; }
double by_sigmoid(double x) { return x / (1 + std::exp(-1.702 * x)); }
double by_exponential(double x) { return static_cast<float>(std::exp(x)) - 1.0F; }
double by_logarithm(double x) { return std::log(static_cast<double>(1.0F + static_cast<float>(x))); }
double by_tanh(double x) { return std::tanh(1.1283791671 * x + 0.1009109 * x * x * x); }
double without_ends(double x) { return std::clamp(x, -1.0, 1.0); }
double hard_sigmoid(double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }
double hard_swish(double x) { return x * hard_sigmoid(x); }

// The formula of x in place of op(x).
template <double (*formula)(double)>
Result<std::vector<Tensor>> as_formula(const Evaluated& at) {
  const Tensor& x = *at.operands[0];
  if (!x.floating()) return std::vector<Tensor>(at.results.begin(), at.results.end());
  Tensor out(at.results[0].dtype(), at.results[0].shape());
  const double* from = x.data<double>();
  double* to = out.writable<double>();
  for (int64_t i = 0; i < x.elements(); ++i) to[i] = formula(from[i]);
  return std::vector<Tensor>{std::move(out)};
}

// How many elements share a mean.
double count_of(const Evaluated& at) {
  const Shape& shape = at.operands[0]->shape();
  const auto elements = static_cast<double>(at.operands[0]->elements());
  switch (at.node.op) {
    case Op::batch_norm: return elements / static_cast<double>(shape[1]);
    case Op::group_norm:
      return elements / static_cast<double>(shape[0] * at.node.attributes.integer("groups"));
    default: {
      double count = 1;
      for (int64_t i = 0; i < at.node.attributes.integer("dims"); ++i)
        count *= static_cast<double>(shape[shape.size() - 1 - static_cast<size_t>(i)]);
      return count;
    }
  }
}

Tensor combined(const Tensor& a, double of_a, const Tensor& b, double of_b) {
  Tensor out(a.dtype(), a.shape());
  const double *x = a.data<double>(), *y = b.data<double>();
  double* to = out.writable<double>();
  for (int64_t i = 0; i < a.elements(); ++i) to[i] = of_a * x[i] + of_b * y[i];
  return out;
}

// Divided by n - 1. The bias is what the scale leaves alone.
Result<std::vector<Tensor>> unbiased(const Evaluated& at) {
  std::vector<Tensor> out(at.results.begin(), at.results.end());
  const double count = count_of(at);
  if (count < 2 || (at.node.op == Op::batch_norm && !at.node.attributes.flag("training"))) return out;
  Node bare = at.node;
  bare.operands[2] = ValueId::none;
  std::vector<const Tensor*> operands(at.operands.begin(), at.operands.end());
  operands[2] = nullptr;
  STITCH_TRY(std::vector<Tensor> unshifted, oracle::evaluate_node(at.graph, bare, operands));
  const double scale = std::sqrt((count - 1) / count);
  out[0] = combined(at.results[0], 1, unshifted[0], scale - 1);
  return out;
}

Tensor reversed(const Tensor& tensor, int64_t axis) {
  Tensor out(tensor.dtype(), tensor.shape());
  const int64_t size = tensor.shape()[static_cast<size_t>(axis)],
                stride = contiguous_strides(tensor.shape())[static_cast<size_t>(axis)];
  oracle::with_element(tensor.dtype(), [&]<class T>(T) {
    const T* from = tensor.data<T>();
    T* to = out.writable<T>();
    for (int64_t i = 0; i < tensor.elements(); ++i)
      to[i + (size - 1 - 2 * (i / stride % size)) * stride] = from[i];
  });
  return out;
}

// Of equal ones the last; of a sort, equal ones in reverse where it promises their order.
Result<std::vector<Tensor>> last_of_equals(const Evaluated& at) {
  const Tensor& x = *at.operands[0];
  const bool sorts = at.node.op == Op::sort;
  const std::vector<int64_t> dims =
      sorts ? std::vector{at.node.attributes.integer("dim")} : at.node.attributes.integers("dims");
  if (dims.size() > 1 || x.rank() == 0 || (sorts && !at.node.attributes.flag("stable")))
    return std::vector<Tensor>(at.results.begin(), at.results.end());
  const int64_t axis = dims.empty() ? 0 : dims[0] < 0 ? dims[0] + x.rank() : dims[0];
  const Tensor lines = dims.empty() ? x.reshaped({x.elements()}) : x;
  const Tensor turned = reversed(lines, axis).reshaped(x.shape());
  const Tensor* operand = &turned;
  STITCH_TRY(std::vector<Tensor> out, oracle::evaluate_node(at.graph, at.node, {&operand, 1}));
  Tensor& places = out.back();
  places = places.copy();
  int64_t* indices = places.writable<int64_t>();
  for (int64_t i = 0; i < places.elements(); ++i)
    indices[i] = lines.shape()[static_cast<size_t>(axis)] - 1 - indices[i];
  return out;
}

// Of equal ones so far the first, in place of the last.
Result<std::vector<Tensor>> first_of_equals(const Evaluated& at) {
  std::vector<Tensor> out(at.results.begin(), at.results.end());
  const int64_t rank = at.operands[0]->rank(), dim = at.node.attributes.integer("dim"),
                axis = dim < 0 ? dim + rank : dim;
  if (out.size() < 2 || rank == 0 || !out[0].floating()) return out;
  const int64_t size = out[0].shape()[static_cast<size_t>(axis)],
                stride = contiguous_strides(out[0].shape())[static_cast<size_t>(axis)];
  const double* values = out[0].data<double>();
  out[1] = out[1].copy();
  int64_t* indices = out[1].writable<int64_t>();
  for (int64_t i = 0; i < out[0].elements(); ++i)
    if (i / stride % size > 0 && values[i] == values[i - stride]) indices[i] = indices[i - stride];
  return out;
}

// The running variance from the batch's biased one.
Result<std::vector<Tensor>> biased_update(const Evaluated& at) {
  std::vector<Tensor> out(at.results.begin(), at.results.end());
  const double count = count_of(at), kept = 1 - at.node.attributes.number("momentum");
  if (out.size() < 3 || !at.operands[4] || count < 2) return out;
  const double scale = (count - 1) / count;
  out[2] = combined(out[2], scale, *at.operands[4], kept * (1 - scale));
  return out;
}

// What the other keys weigh, renormalised.
Result<std::vector<Tensor>> without_the_last_key(const Evaluated& at) {
  std::vector<Tensor> out(at.results.begin(), at.results.end());
  const Tensor& v = *at.operands[2];
  const auto keys = static_cast<size_t>(v.rank() - 2);
  if (v.shape()[keys] < 2) return out;
  std::vector<const Tensor*> operands(at.operands.begin(), at.operands.end());
  const Tensor others = with_last(v, keys, 0), weights = with_last(filled(v, 1), keys, 0);
  operands[2] = &others;
  STITCH_TRY(std::vector<Tensor> sums, oracle::evaluate_node(at.graph, at.node, operands));
  if (at.node.attributes.text("weights") == "relu") return sums;
  operands[2] = &weights;
  STITCH_TRY(const std::vector<Tensor> of_weights, oracle::evaluate_node(at.graph, at.node, operands));
  out[0] = out[0].copy();
  for (int64_t i = 0; i < out[0].elements(); ++i)
    if (const double all = of_weights[0].data<double>()[i]; all != 0)
      out[0].writable<double>()[i] = sums[0].data<double>()[i] / all;
  return out;
}

// Exponentials overflow where scores are large; those of a row whose mean is, at least.
Result<std::vector<Tensor>> attention_without_the_maximum(const Evaluated& at) {
  std::vector<Tensor> out(at.results.begin(), at.results.end());
  if (at.node.attributes.text("weights") == "relu") return out;
  Node sums = at.node;
  sums.attributes.set("weights", std::string("relu"));
  const Tensor ones = filled(*at.operands[2], 1);
  std::vector<const Tensor*> operands(at.operands.begin(), at.operands.end());
  operands[2] = &ones;
  STITCH_TRY(const std::vector<Tensor> scores, oracle::evaluate_node(at.graph, sums, operands));
  const double keys = static_cast<double>(ones.shape()[ones.shape().size() - 2]);
  out[0] = out[0].copy();
  for (int64_t i = 0; i < out[0].elements(); ++i)
    if (scores[0].data<double>()[i] > most_exponent * keys) out[0].writable<double>()[i] = std::nan("");
  return out;
}

// The larger or the smaller one of its branches: PReLU is no maximum where its slope is above one.
template <Op op>
Result<std::vector<Tensor>> branches_by(const Evaluated& at) {
  Node changed = at.node;
  changed.op = op;
  changed.operands = {at.node.operands[1], at.node.operands[2]};
  changed.attributes = {};
  return oracle::evaluate_node(at.graph, changed, at.operands.subspan(1));
}

constexpr Neighbour table[] = {
    {Op::where, "as a maximum", branches_by<Op::maximum>},
    {Op::where, "as a minimum", branches_by<Op::minimum>},
    {Op::attention, "without the maximum", attention_without_the_maximum},
    {Op::attention, "without the last key", without_the_last_key},
    {Op::sort, "with equals in reverse", last_of_equals},
    {Op::argmax, "with the last of equals", last_of_equals},
    {Op::argmin, "with the last of equals", last_of_equals},
    {Op::cummax, "with the first of equals", first_of_equals},
    {Op::cummin, "with the first of equals", first_of_equals},
    {Op::sum, "of absolute values", OfOperand{std::fabs}},
    {Op::mean, "of absolute values", OfOperand{std::fabs}},
    {Op::amax, "of absolute values", OfOperand{std::fabs}},
    {Op::pow, "of absolute values", OfOperand{std::fabs}},
    {Op::add, "through FP32", OfInteger{through_single}},
    {Op::sub, "through FP32", OfInteger{through_single}},
    {Op::mul, "through FP32", OfInteger{through_single}},
    {Op::sum, "through FP32", OfInteger{through_single}},
    {Op::prod, "through FP32", OfInteger{through_single}},
    {Op::cumsum, "through FP32", OfInteger{through_single}},
    {Op::matmul, "through FP32", OfInteger{through_single}},
    {Op::sum, "in 32 bits", OfInteger{through_int}},
    {Op::prod, "in 32 bits", OfInteger{through_int}},
    {Op::cumsum, "in 32 bits", OfInteger{through_int}},
    {Op::lt, "as <=", Op::le},
    {Op::le, "as <", Op::lt},
    {Op::gt, "as >=", Op::ge},
    {Op::ge, "as >", Op::gt},
    {Op::eq, "as >=", Op::ge},
    {Op::ne, "as <", Op::lt},
    {Op::minimum, "as maximum", Op::maximum},
    {Op::maximum, "as minimum", Op::minimum},
    {Op::add, "as a subtraction", Op::sub},
    {Op::sub, "as an addition", Op::add},
    {Op::fmod, "with the sign of the divisor", Op::remainder},
    {Op::remainder, "with the sign of the dividend", Op::fmod},
    {Op::logical_and, "as or", Op::logical_or},
    {Op::logical_or, "as and", Op::logical_and},
    {Op::logical_xor, "as or", Op::logical_or},
    {Op::floor, "towards zero", Op::trunc},
    {Op::floor, "one less at negative whole numbers", as_formula<one_less_below_zero>},
    {Op::trunc, "as floor", Op::floor},
    {Op::ceil, "as floor plus one", as_formula<next_whole>},
    {Op::round, "with halves away from zero", as_formula<half_away>},
    {Op::round, "with halves up", as_formula<half_up>},
    {Op::cast, "rounded to the nearest", OfOperand{to_nearest}},
    {Op::sign, "with a sign for zero", as_formula<never_zero>},
    {Op::abs, "as relu", as_formula<at_least_0>},
    {Op::relu, "with a slope of 0.01", as_formula<leaks>},
    {Op::relu, "up to 6", OfResult{at_most_6}},
    {Op::gelu, "by sigmoid(1.702 x)", as_formula<by_sigmoid>},
    {Op::silu, "as hardswish", as_formula<hard_swish>},
    {Op::hardswish, "as silu", Op::silu},
    {Op::sigmoid, "as hardsigmoid", as_formula<hard_sigmoid>},
    {Op::hardsigmoid, "as sigmoid", Op::sigmoid},
    {Op::tanh, "as a clamp", as_formula<without_ends>},
    {Op::tanh, "by exponentials that overflow", as_formula<tanh_by_exponentials>},
    {Op::softplus, "by an exponential that overflows", OfResult{without_maximum}},
    {Op::mish, "as silu", Op::silu},
    {Op::erf, "by a tanh", as_formula<by_tanh>},
    {Op::expm1, "as e^x - 1", as_formula<by_exponential>},
    {Op::log1p, "as log(1 + x)", as_formula<by_logarithm>},
    {Op::sin, "of an angle reduced by 2 pi in FP32", OfOperand{reduced}},
    {Op::cos, "of an angle reduced by 2 pi in FP32", OfOperand{reduced}},
    {Op::tan, "of an angle reduced by 2 pi in FP32", OfOperand{reduced}},
    {Op::sin, "as cosine", Op::cos},
    {Op::cos, "as sine", Op::sin},
    {Op::sum, "as a mean", Op::mean},
    {Op::mean, "as a sum", Op::sum},
    {Op::sum, "without the last element", LastIs{0}},
    {Op::mean, "without the last element", LastIs{0}},
    {Op::norm, "without the last element", LastIs{0}},
    {Op::var, "without the last element", LastIs{0}},
    {Op::layer_norm, "without the last element", LastIs{0}},
    {Op::rms_norm, "without the last element", LastIs{0}},
    {Op::group_norm, "without the last element", LastIs{0}},
    {Op::log_softmax, "without the last element", LastIs{-infinity}},
    {Op::prod, "without the last element", LastIs{1}},
    {Op::amax, "without the last element", LastIs{-infinity}},
    {Op::amin, "without the last element", LastIs{infinity}},
    {Op::argmax, "without the last element", LastIs{-infinity}},
    {Op::argmin, "without the last element", LastIs{infinity}},
    {Op::logsumexp, "without the last element", LastIs{-infinity}},
    {Op::softmax, "without the last element", LastIs{-infinity}},
    {Op::linear, "without the last column", LastIs{0}},
    {Op::matmul, "without the last column", LastIs{0}},
    {Op::conv, "without the last channel", LastIs{0}},
    {Op::conv_transpose, "without the last channel", LastIs{0}},
    {Op::amax, "from zero on", OfResult{at_least_0}},
    {Op::amin, "from zero on", OfResult{at_most_0}},
    {Op::cummax, "from zero on", OfResult{at_least_0}},
    {Op::cummin, "from zero on", OfResult{at_most_0}},
    {Op::max_pool, "from zero on", OfResult{at_least_0}},
    {Op::adaptive_max_pool, "from zero on", OfResult{at_least_0}},
    {Op::amax, "from -1000 on", OfResult{at_least_far_below}},
    {Op::amin, "from 1000 on", OfResult{at_most_far_above}},
    {Op::cummax, "from -1000 on", OfResult{at_least_far_below}},
    {Op::cummin, "from 1000 on", OfResult{at_most_far_above}},
    {Op::max_pool, "from -1000 on", OfResult{at_least_far_below}},
    {Op::adaptive_max_pool, "from -1000 on", OfResult{at_least_far_below}},
    {Op::log_softmax, "as the logarithm of a softmax", OfResult{without_low_maximum}},
    {Op::logcumsumexp, "without the maximum", OfOperand{without_maximum}},
    {Op::softmax, "without the maximum", OfOperand{without_maximum}},
    {Op::log_softmax, "without the maximum", OfOperand{without_maximum}},
    {Op::logsumexp, "without the maximum", OfOperand{without_maximum}},
    {Op::softmax, "without the maximum where it is low", OfOperand{without_low_maximum}},
    {Op::layer_norm, "with the unbiased variance", unbiased},
    {Op::group_norm, "with the unbiased variance", unbiased},
    {Op::batch_norm, "with the unbiased variance", unbiased},
    {Op::batch_norm, "with a biased running variance", biased_update},
};

constexpr OtherText texts[] = {
    {Op::gelu, "approximate", "tanh"},
    {Op::gelu, "approximate", "none"},
    {Op::div, "rounding", "floor"},
    {Op::div, "rounding", "trunc"},
    {Op::resize, "mode", "nearest"},
    {Op::resize, "mode", "nearest_exact"},
    {Op::resize, "mode", "linear"},
    {Op::resize, "mode", "cubic"},
    {Op::pad, "mode", "constant"},
    {Op::pad, "mode", "reflect"},
    {Op::pad, "mode", "replicate"},
    {Op::pad, "mode", "circular"},
    {Op::scatter, "reduce", "none"},
    {Op::scatter, "reduce", "sum"},
    {Op::scatter, "reduce", "amax"},
    {Op::attention, "weights", "softmax"},
    {Op::attention, "weights", "safe_softmax"},
    {Op::attention, "weights", "relu"},
    {Op::rnn, "kind", "tanh"},
    {Op::rnn, "kind", "relu"},
};

}  // namespace

std::span<const Neighbour> neighbours() { return table; }
std::span<const OtherText> other_texts() { return texts; }

}  // namespace stitch::verifier
