// Pointwise ops of several operands; shapes broadcast.
#include <cmath>

#include "oracle/call.h"
#include "oracle/walk.h"

namespace stitch::oracle {

namespace {

template <class To, class From, class Function>
Outcome combine(const Call& call, Function function) {
  Tensor out = call.result();
  const From *a = call.in(0).data<From>(), *b = call.in(1).data<From>();
  To* y = out.writable<To>();
  const Shape& shape = out.shape();
  Walk<2> walk{shape,
               {broadcast_strides(call.in(0).shape(), shape), broadcast_strides(call.in(1).shape(), shape)}};
  walk_all(walk, [=](int64_t first, Places<2> at, Places<2> step, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      y[first + i] = function(a[at[0] + i * step[0]], b[at[1] + i * step[1]]);
  });
  return one(std::move(out));
}

template <class Function>
Outcome numbers(const Call& call, Function function) {
  return combine<double, double>(call, function);
}

template <class Function>
Outcome integers(const Call& call, Function function) {
  DType dtype = call.type().dtype;
  return combine<int64_t, int64_t>(
      call, [=](int64_t a, int64_t b) { return wrapped(static_cast<int64_t>(function(a, b)), dtype); });
}

double floor_divided(double a, double b) {
  if (b == 0) return a / b;
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  double rounded = std::floor(quotient);
  return quotient - rounded > 0.5 ? rounded + 1 : rounded;
}

double remainder(double a, double b) {
  double rest = std::fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

// NaN propagates; 0 is larger than -0, as in IEEE 754 and in CUDA's min and max.
double lesser(double a, double b) {
  if (a == b) return std::signbit(a) ? a : b;
  return std::isnan(a) || a < b ? a : b;
}
double greater(double a, double b) {
  if (a == b) return std::signbit(a) ? b : a;
  return std::isnan(a) || a > b ? a : b;
}

// b is not 0. The one quotient that overflows wraps.
int64_t truncate_divided(int64_t a, int64_t b) {
  return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
}
int64_t rest_of(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
int64_t floor_divided(int64_t a, int64_t b) {
  int64_t rest = rest_of(a, b);
  return truncate_divided(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}
int64_t remainder(int64_t a, int64_t b) {
  int64_t rest = rest_of(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1, square *= square)
    if (exponent & 1) result *= square;
  return static_cast<int64_t>(result);
}

Outcome divided(const Call& call) {
  const std::string& rounding = call.attributes().text("rounding");
  if (call.in().floating()) {
    if (rounding == "floor") return numbers(call, [](double a, double b) { return floor_divided(a, b); });
    if (rounding == "trunc") return numbers(call, [](double a, double b) { return std::trunc(a / b); });
    return numbers(call, [](double a, double b) { return a / b; });
  }
  if (rounding == "floor") return integers(call, [](int64_t a, int64_t b) { return floor_divided(a, b); });
  return integers(call, truncate_divided);
}

Outcome on_integers(const Call& call) {
  bool divides = call.op() == Op::div || call.op() == Op::fmod || call.op() == Op::remainder;
  const Tensor& b = call.in(1);
  const int64_t* end = b.data<int64_t>() + b.elements();
  if (divides && call.type().elements() > 0 && std::find(b.data<int64_t>(), end, 0) != end)
    return user_error("division_by_zero", "an integer is divided by zero");
  switch (call.op()) {
    // Unsigned, because there overflow wraps.
    case Op::add: return integers(call, [](uint64_t x, uint64_t y) { return x + y; });
    case Op::sub: return integers(call, [](uint64_t x, uint64_t y) { return x - y; });
    case Op::mul: return integers(call, [](uint64_t x, uint64_t y) { return x * y; });
    case Op::div: return divided(call);
    case Op::pow: return integers(call, power);
    case Op::fmod: return integers(call, rest_of);
    case Op::remainder: return integers(call, [](int64_t x, int64_t y) { return remainder(x, y); });
    case Op::minimum: return integers(call, [](int64_t x, int64_t y) { return std::min(x, y); });
    case Op::maximum: return integers(call, [](int64_t x, int64_t y) { return std::max(x, y); });
    default: throw Bug("an op that takes no integers");
  }
}

template <class T>
Outcome compare(const Call& call) {
  switch (call.op()) {
    case Op::eq: return combine<int64_t, T>(call, [](T a, T b) { return a == b; });
    case Op::ne: return combine<int64_t, T>(call, [](T a, T b) { return a != b; });
    case Op::lt: return combine<int64_t, T>(call, [](T a, T b) { return a < b; });
    case Op::le: return combine<int64_t, T>(call, [](T a, T b) { return a <= b; });
    case Op::gt: return combine<int64_t, T>(call, [](T a, T b) { return a > b; });
    case Op::ge: return combine<int64_t, T>(call, [](T a, T b) { return a >= b; });
    default: throw Bug("no comparison");
  }
}

}  // namespace

Outcome evaluate_arithmetic(const Call& call) {
  if (!call.in().floating()) return on_integers(call);
  switch (call.op()) {
    case Op::add: return numbers(call, [](double a, double b) { return a + b; });
    case Op::sub: return numbers(call, [](double a, double b) { return a - b; });
    case Op::mul: return numbers(call, [](double a, double b) { return a * b; });
    case Op::div: return divided(call);
    case Op::pow: return numbers(call, [](double a, double b) { return std::pow(a, b); });
    case Op::fmod: return numbers(call, [](double a, double b) { return std::fmod(a, b); });
    case Op::remainder: return numbers(call, [](double a, double b) { return remainder(a, b); });
    case Op::atan2: return numbers(call, [](double a, double b) { return std::atan2(a, b); });
    case Op::minimum: return numbers(call, lesser);
    case Op::maximum: return numbers(call, greater);
    default: throw Bug("no arithmetic");
  }
}

Outcome evaluate_comparison(const Call& call) {
  return with_element(call.in().dtype(), [&](auto element) { return compare<decltype(element)>(call); });
}

Outcome evaluate_logic(const Call& call) {
  // Shifts by more than the width give the result of shifting bit by bit.
  int64_t bits = 8 * size_of(call.in().dtype());
  switch (call.op()) {
    case Op::logical_and:
    case Op::bitwise_and: return integers(call, [](int64_t a, int64_t b) { return a & b; });
    case Op::logical_or:
    case Op::bitwise_or: return integers(call, [](int64_t a, int64_t b) { return a | b; });
    case Op::logical_xor:
    case Op::bitwise_xor: return integers(call, [](int64_t a, int64_t b) { return a ^ b; });
    case Op::shift_left:
      return integers(call, [=](int64_t a, int64_t b) {
        return b < 0 || b >= bits ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
      });
    case Op::shift_right:
      return integers(call, [=](int64_t a, int64_t b) { return a >> (b < 0 || b >= bits ? 63 : b); });
    default: throw Bug("no logic");
  }
}

Outcome evaluate_where(const Call& call) {
  Tensor out = call.result();
  const Shape& shape = out.shape();
  Walk<3> walk{shape, {}};
  for (size_t i = 0; i < 3; ++i) walk.strides[i] = broadcast_strides(call.in(i).shape(), shape);
  const int64_t* condition = call.in(0).data<int64_t>();
  with_element(out.dtype(), [&](auto element) {
    using T = decltype(element);
    const T *a = call.in(1).data<T>(), *b = call.in(2).data<T>();
    T* y = out.writable<T>();
    walk_all(walk, [=](int64_t first, Places<3> at, Places<3> step, int64_t count) {
      for (int64_t i = 0; i < count; ++i)
        y[first + i] = condition[at[0] + i * step[0]] ? a[at[1] + i * step[1]] : b[at[2] + i * step[2]];
    });
  });
  return one(std::move(out));
}

}  // namespace stitch::oracle
