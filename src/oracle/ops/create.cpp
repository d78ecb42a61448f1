// Creation ops.
#include <cmath>
#include <numbers>

#include "base/machine/parallel.h"
#include "oracle/call.h"
#include "oracle/philox.h"

namespace stitch::oracle {

namespace {

// Computes every element from its row-major index; `function` returns a double, cast to the result's dtype.
template <class Function>
Outcome generate(const Call& call, Function function) {
  Tensor out = call.result();
  DType dtype = out.dtype();
  with_element(dtype, [&](auto element) {
    using T = decltype(element);
    T* y = out.writable<T>();
    parallel_for(out.elements(), 1 << 13, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_same_v<T, double>)
          y[i] = function(i);
        else
          y[i] = to_integer(function(i), dtype);
      }
    });
  });
  return one(std::move(out));
}

}  // namespace

Outcome evaluate_full(const Call& call) {
  double value = call.attributes().number("value");
  return generate(call, [=](int64_t) { return value; });
}

Outcome evaluate_iota(const Call& call) {
  double start = call.attributes().number("start"), step = call.attributes().number("step");
  return generate(call, [=](int64_t i) { return start + static_cast<double>(i) * step; });
}

Outcome evaluate_random(const Call& call) {
  const Attributes& attributes = call.attributes();
  const std::string& kind = attributes.text("distribution");
  int64_t seed = call.in().data<int64_t>()[0], stream = attributes.integer("stream");
  double a = attributes.number("a"), b = attributes.number("b");
  int bits = call.type().dtype == DType::f64 ? 53 : 24;
  if (kind == "uniform")
    return generate(call,
                    [=](int64_t i) { return a + (b - a) * uniform(random_bits(seed, stream, i)[0], bits); });
  if (kind == "bernoulli")
    return generate(call,
                    [=](int64_t i) { return uniform(random_bits(seed, stream, i)[0], 53) < a ? 1.0 : 0.0; });
  if (kind == "integers")
    return generate(call, [=](int64_t i) {
      return a + std::floor(uniform(random_bits(seed, stream, i)[0], 53) * (b - a));
    });
  return generate(call, [=](int64_t i) {
    auto words = random_bits(seed, stream, i);
    double radius = std::sqrt(-2 * std::log(1 - uniform(words[0], bits)));
    return a + b * radius * std::cos(2 * std::numbers::pi * uniform(words[1], bits));
  });
}

}  // namespace stitch::oracle
