// Pointwise ops of one operand.
#include <cmath>
#include <numbers>

#include "base/parallel.h"
#include "oracle/call.h"

namespace stitch::oracle {

namespace {

template <class To, class From, class Function>
Outcome map(const Call& call, Function function) {
  Tensor out = call.result();
  const From* x = call.in().data<From>();
  To* y = out.writable<To>();
  parallel_for(out.elements(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = function(x[i]);
  });
  return one(std::move(out));
}

template <class Function>
Outcome numbers(const Call& call, Function function) {
  return map<double, double>(call, function);
}

template <class Function>
Outcome integers(const Call& call, Function function) {
  DType dtype = call.type().dtype;
  return map<int64_t, int64_t>(call, [=](int64_t x) { return wrapped(function(x), dtype); });
}

// Wraps where signed arithmetic would overflow.
int64_t negated(int64_t x) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// erfc keeps what 1 + erf loses for large negative x.
double gelu(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }

double gelu_by_tanh(double x) {
  double slope = std::sqrt(2 / std::numbers::pi);
  return 0.5 * x * (1 + std::tanh(slope * (x + 0.044715 * x * x * x)));
}

// Written so that NaN passes: every comparison with it is false.
template <class T>
T clamped(T x, T low, T high) {
  T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

Outcome on_integers(const Call& call) {
  switch (call.op()) {
    case Op::neg: return integers(call, negated);
    case Op::abs: return integers(call, [](int64_t x) { return x < 0 ? negated(x) : x; });
    case Op::sign: return integers(call, [](int64_t x) { return int64_t{(x > 0) - (x < 0)}; });
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::trunc: return one(call.in());
    case Op::relu: return integers(call, [](int64_t x) { return std::max<int64_t>(x, 0); });
    case Op::clamp: {
      int64_t low = to_integer(call.attributes().number("low"), DType::i64);
      int64_t high = to_integer(call.attributes().number("high"), DType::i64);
      return integers(call, [=](int64_t x) { return clamped(x, low, high); });
    }
    case Op::is_nan:
    case Op::is_inf: return integers(call, [](int64_t) { return int64_t{0}; });
    case Op::logical_not: return integers(call, [](int64_t x) { return int64_t{x == 0}; });
    case Op::bitwise_not: return integers(call, [](int64_t x) { return ~x; });
    default: throw Bug("an op that takes no integers");
  }
}

Outcome softplus(const Call& call) {
  double beta = call.attributes().number("beta"), threshold = call.attributes().number("threshold");
  return numbers(call,
                 [=](double x) { return beta * x > threshold ? x : std::log1p(std::exp(beta * x)) / beta; });
}

Outcome elu(const Call& call) {
  double alpha = call.attributes().number("alpha"), scale = call.attributes().number("scale");
  double input_scale = call.attributes().number("input_scale");
  return numbers(call,
                 [=](double x) { return x <= 0 ? scale * alpha * std::expm1(input_scale * x) : scale * x; });
}

}  // namespace

Outcome evaluate_unary(const Call& call) {
  if (!call.in().floating()) return on_integers(call);
  const Attributes& attributes = call.attributes();
  switch (call.op()) {
    case Op::neg: return numbers(call, [](double x) { return -x; });
    case Op::abs: return numbers(call, [](double x) { return std::fabs(x); });
    // PyTorch's sign of NaN is 0.
    case Op::sign: return numbers(call, [](double x) { return double((x > 0) - (x < 0)); });
    case Op::exp: return numbers(call, [](double x) { return std::exp(x); });
    case Op::expm1: return numbers(call, [](double x) { return std::expm1(x); });
    case Op::log: return numbers(call, [](double x) { return std::log(x); });
    case Op::log1p: return numbers(call, [](double x) { return std::log1p(x); });
    case Op::sqrt: return numbers(call, [](double x) { return std::sqrt(x); });
    case Op::rsqrt: return numbers(call, [](double x) { return 1 / std::sqrt(x); });
    case Op::reciprocal: return numbers(call, [](double x) { return 1 / x; });
    case Op::sin: return numbers(call, [](double x) { return std::sin(x); });
    case Op::cos: return numbers(call, [](double x) { return std::cos(x); });
    case Op::tan: return numbers(call, [](double x) { return std::tan(x); });
    case Op::asin: return numbers(call, [](double x) { return std::asin(x); });
    case Op::acos: return numbers(call, [](double x) { return std::acos(x); });
    case Op::atan: return numbers(call, [](double x) { return std::atan(x); });
    case Op::sinh: return numbers(call, [](double x) { return std::sinh(x); });
    case Op::cosh: return numbers(call, [](double x) { return std::cosh(x); });
    case Op::tanh: return numbers(call, [](double x) { return std::tanh(x); });
    case Op::asinh: return numbers(call, [](double x) { return std::asinh(x); });
    case Op::acosh: return numbers(call, [](double x) { return std::acosh(x); });
    case Op::atanh: return numbers(call, [](double x) { return std::atanh(x); });
    case Op::sigmoid: return numbers(call, sigmoid);
    case Op::erf: return numbers(call, [](double x) { return std::erf(x); });
    case Op::erfc: return numbers(call, [](double x) { return std::erfc(x); });
    case Op::floor: return numbers(call, [](double x) { return std::floor(x); });
    case Op::ceil: return numbers(call, [](double x) { return std::ceil(x); });
    case Op::round: return numbers(call, [](double x) { return std::nearbyint(x); });
    case Op::trunc: return numbers(call, [](double x) { return std::trunc(x); });
    case Op::relu: return numbers(call, [](double x) { return x < 0 ? 0 : x; });
    case Op::gelu: return numbers(call, attributes.text("approximate") == "tanh" ? gelu_by_tanh : gelu);
    case Op::silu: return numbers(call, [](double x) { return x / (1 + std::exp(-x)); });
    case Op::mish: return numbers(call, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
    case Op::softplus: return softplus(call);
    case Op::elu: return elu(call);
    case Op::leaky_relu: {
      double slope = attributes.number("slope");
      return numbers(call, [=](double x) { return x > 0 ? x : slope * x; });
    }
    case Op::hardsigmoid: return numbers(call, [](double x) { return clamped(x + 3, 0.0, 6.0) / 6; });
    case Op::hardswish: return numbers(call, [](double x) { return x * clamped(x + 3, 0.0, 6.0) / 6; });
    case Op::clamp: {
      double low = attributes.number("low"), high = attributes.number("high");
      return numbers(call, [=](double x) { return clamped(x, low, high); });
    }
    case Op::is_nan: return map<int64_t, double>(call, [](double x) { return std::isnan(x); });
    case Op::is_inf: return map<int64_t, double>(call, [](double x) { return std::isinf(x); });
    default: throw Bug("an op that takes no floats");
  }
}

Outcome evaluate_cast(const Call& call) {
  DType to = call.type().dtype;
  if (call.in().floating())
    return is_floating(to) ? one(call.in().labelled(to))
                           : map<int64_t, double>(call, [=](double x) { return to_integer(x, to); });
  if (is_floating(to)) return map<double, int64_t>(call, [](int64_t x) { return static_cast<double>(x); });
  return integers(call, [](int64_t x) { return x; });
}

}  // namespace stitch::oracle
