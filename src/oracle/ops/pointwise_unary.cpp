// Pointwise ops of one operand.
#include <cmath>
#include <limits>
#include <numbers>

#include "base/machine/parallel.h"
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
Outcome each_number(const Call& call, Function function) {
  return map<double, double>(call, function);
}

template <class Function>
Outcome each_integer(const Call& call, Function function) {
  DType dtype = call.type().dtype;
  return map<int64_t, int64_t>(call, [=](int64_t x) { return wrapped(function(x), dtype); });
}

// Wraps where signed arithmetic would overflow.
int64_t negated(int64_t x) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); }

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// erfc avoids the cancellation of 1 + erf for large negative x.
double gelu(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }

double gelu_by_tanh(double x) {
  double slope = std::sqrt(2 / std::numbers::pi);
  return 0.5 * x * (1 + std::tanh(slope * (x + 0.044715 * x * x * x)));
}

// Written so that NaN passes through.
template <class T>
T clamped(T x, T low, T high) {
  T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

// With 0 larger than -0, as in IEEE 754.
double clamped_number(double x, double low, double high) {
  double raised = x < low || (x == low && std::signbit(x)) ? low : x;
  return raised > high || (raised == high && std::signbit(high)) ? high : raised;
}

// lgamma writes a global; lgamma_r is thread-safe.
double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// Newton's method from Giles' single-precision approximation.
double inverse_erf(double y) {
  if (std::isnan(y) || std::fabs(y) > 1) return std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(y) == 1) return std::copysign(std::numeric_limits<double>::infinity(), y);
  if (y == 0) return y;
  double w = -std::log((1 - y) * (1 + y)), x;
  if (w < 5) {
    constexpr double c[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                            -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
    x = 0;
    for (double each : c) x = x * (w - 2.5) + each;
  } else {
    constexpr double c[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                            -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
    x = 0;
    for (double each : c) x = x * (std::sqrt(w) - 3) + each;
  }
  x *= y;
  for (int i = 0; i < 3; ++i) {
    // Above 1/2 erfc keeps digits that erf loses.
    double error = std::fabs(y) < 0.5 ? std::erf(x) - y
                                      : (y < 0 ? -1 : 1) * ((1 - std::fabs(y)) - std::erfc(std::fabs(x)));
    x -= error / (2 / std::sqrt(std::numbers::pi) * std::exp(-x * x));
  }
  return x;
}

// By reflection to positive x, recurrence to x >= 10, and the asymptotic series.
double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x == -std::numeric_limits<double>::infinity()) return std::numeric_limits<double>::quiet_NaN();
  if (x < 0) {
    double whole, part = std::modf(x, &whole);
    if (part == 0) return std::numeric_limits<double>::quiet_NaN();
    return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * part);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  double square = 1 / (x * x), series = 0;
  for (double each : {1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12})
    series = series * square + each;
  return sum + std::log(x) - 0.5 / x - series * square;
}

Outcome unary_on_integers(const Call& call) {
  switch (call.op()) {
    case Op::neg: return each_integer(call, negated);
    case Op::abs: return each_integer(call, [](int64_t x) { return x < 0 ? negated(x) : x; });
    case Op::sign: return each_integer(call, [](int64_t x) { return int64_t{(x > 0) - (x < 0)}; });
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::trunc: return one(call.in());
    case Op::relu: return each_integer(call, [](int64_t x) { return std::max<int64_t>(x, 0); });
    case Op::clamp: {
      int64_t low = to_integer(call.attributes().number("low"), DType::i64);
      int64_t high = to_integer(call.attributes().number("high"), DType::i64);
      return each_integer(call, [=](int64_t x) { return clamped(x, low, high); });
    }
    case Op::is_nan:
    case Op::is_inf: return each_integer(call, [](int64_t) { return int64_t{0}; });
    case Op::signbit: return each_integer(call, [](int64_t x) { return int64_t{x < 0}; });
    case Op::logical_not: return each_integer(call, [](int64_t x) { return int64_t{x == 0}; });
    case Op::bitwise_not: return each_integer(call, [](int64_t x) { return ~x; });
    default: throw Bug("an op that takes no integers");
  }
}

Outcome softplus(const Call& call) {
  double beta = call.attributes().number("beta"), threshold = call.attributes().number("threshold");
  return each_number(
      call, [=](double x) { return beta * x > threshold ? x : std::log1p(std::exp(beta * x)) / beta; });
}

Outcome elu(const Call& call) {
  double alpha = call.attributes().number("alpha"), scale = call.attributes().number("scale");
  double input_scale = call.attributes().number("input_scale");
  return each_number(
      call, [=](double x) { return x <= 0 ? scale * alpha * std::expm1(input_scale * x) : scale * x; });
}

}  // namespace

Outcome evaluate_unary(const Call& call) {
  if (!call.in().floating()) return unary_on_integers(call);
  const Attributes& attributes = call.attributes();
  switch (call.op()) {
    case Op::neg: return each_number(call, [](double x) { return -x; });
    case Op::abs: return each_number(call, [](double x) { return std::fabs(x); });
    // PyTorch's sign of NaN is 0.
    case Op::sign: return each_number(call, [](double x) { return double((x > 0) - (x < 0)); });
    case Op::exp: return each_number(call, [](double x) { return std::exp(x); });
    case Op::expm1: return each_number(call, [](double x) { return std::expm1(x); });
    case Op::log: return each_number(call, [](double x) { return std::log(x); });
    case Op::log1p: return each_number(call, [](double x) { return std::log1p(x); });
    case Op::sqrt: return each_number(call, [](double x) { return std::sqrt(x); });
    case Op::rsqrt: return each_number(call, [](double x) { return 1 / std::sqrt(x); });
    case Op::reciprocal: return each_number(call, [](double x) { return 1 / x; });
    case Op::sin: return each_number(call, [](double x) { return std::sin(x); });
    case Op::cos: return each_number(call, [](double x) { return std::cos(x); });
    case Op::tan: return each_number(call, [](double x) { return std::tan(x); });
    case Op::asin: return each_number(call, [](double x) { return std::asin(x); });
    case Op::acos: return each_number(call, [](double x) { return std::acos(x); });
    case Op::atan: return each_number(call, [](double x) { return std::atan(x); });
    case Op::sinh: return each_number(call, [](double x) { return std::sinh(x); });
    case Op::cosh: return each_number(call, [](double x) { return std::cosh(x); });
    case Op::tanh: return each_number(call, [](double x) { return std::tanh(x); });
    case Op::asinh: return each_number(call, [](double x) { return std::asinh(x); });
    case Op::acosh: return each_number(call, [](double x) { return std::acosh(x); });
    case Op::atanh: return each_number(call, [](double x) { return std::atanh(x); });
    case Op::sigmoid: return each_number(call, logistic);
    case Op::erf: return each_number(call, [](double x) { return std::erf(x); });
    case Op::erfc: return each_number(call, [](double x) { return std::erfc(x); });
    case Op::erfinv: return each_number(call, inverse_erf);
    case Op::lgamma: return each_number(call, [](double x) { return log_gamma(x); });
    case Op::digamma: return each_number(call, digamma);
    case Op::floor: return each_number(call, [](double x) { return std::floor(x); });
    case Op::ceil: return each_number(call, [](double x) { return std::ceil(x); });
    case Op::round: return each_number(call, [](double x) { return std::nearbyint(x); });
    case Op::trunc: return each_number(call, [](double x) { return std::trunc(x); });
    case Op::relu: return each_number(call, [](double x) { return x <= 0 ? 0 : x; });
    case Op::gelu: return each_number(call, attributes.text("approximate") == "tanh" ? gelu_by_tanh : gelu);
    case Op::silu: return each_number(call, [](double x) { return x / (1 + std::exp(-x)); });
    case Op::mish: return each_number(call, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
    case Op::softplus: return softplus(call);
    case Op::elu: return elu(call);
    case Op::leaky_relu: {
      double slope = attributes.number("slope");
      return each_number(call, [=](double x) { return x > 0 ? x : slope * x; });
    }
    case Op::hardsigmoid: return each_number(call, [](double x) { return clamped(x + 3, 0.0, 6.0) / 6; });
    case Op::hardswish: return each_number(call, [](double x) { return x * clamped(x + 3, 0.0, 6.0) / 6; });
    case Op::clamp: {
      double low = attributes.number("low"), high = attributes.number("high");
      return each_number(call, [=](double x) { return clamped_number(x, low, high); });
    }
    case Op::is_nan: return map<int64_t, double>(call, [](double x) { return std::isnan(x); });
    case Op::is_inf: return map<int64_t, double>(call, [](double x) { return std::isinf(x); });
    case Op::signbit: return map<int64_t, double>(call, [](double x) { return std::signbit(x); });
    default: throw Bug("an op that takes no floats");
  }
}

Outcome evaluate_cast(const Call& call) {
  DType to = call.type().dtype;
  if (call.in().floating())
    return is_floating(to) ? one(call.in().labelled(to))
                           : map<int64_t, double>(call, [=](double x) { return to_integer(x, to); });
  if (is_floating(to)) return map<double, int64_t>(call, [](int64_t x) { return static_cast<double>(x); });
  return each_integer(call, [](int64_t x) { return x; });
}

}  // namespace stitch::oracle
