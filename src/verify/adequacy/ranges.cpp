#include "verify/adequacy/ranges.h"

#include <algorithm>
#include <cmath>

namespace stitch::verifier {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Range hull(const Range& a, const Range& b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

// Of a function that never falls.
Range through(const Range& x, double (*formula)(double)) { return {formula(x.low), formula(x.high)}; }

// Zero times infinity is a bound of nothing.
double product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Range times(const Range& a, const Range& b) {
  const auto [low, high] = std::minmax(
      {product(a.low, b.low), product(a.low, b.high), product(a.high, b.low), product(a.high, b.high)});
  return {low, high};
}

Range of_node(const Node& node, const std::vector<Range>& known) {
  auto in = [&](size_t i) { return known[index_of(node.operands[i])]; };
  auto all = [&] {
    Range out = in(0);
    for (size_t i = 1; i < node.operands.size(); ++i) out = hull(out, in(i));
    return out;
  };
  constexpr Range zero = {0, 0}, positive = {0, infinity}, unit = {0, 1}, either = {-1, 1};
  switch (node.op) {
    case Op::full: return {node.attributes.number("value"), node.attributes.number("value")};
    case Op::relu: return through(in(0), [](double x) { return std::max(x, 0.0); });
    case Op::abs: return {in(0).within(0, infinity) ? in(0).low : 0, std::max(-in(0).low, in(0).high)};
    case Op::neg: return {-in(0).high, -in(0).low};
    case Op::clamp:
      return {std::clamp(in(0).low, node.attributes.number("low"), node.attributes.number("high")),
              std::clamp(in(0).high, node.attributes.number("low"), node.attributes.number("high"))};
    case Op::exp: return through(in(0), [](double x) { return std::exp(x); });
    case Op::sqrt:
    case Op::rsqrt:
    case Op::softplus:
    case Op::var:
    case Op::norm: return positive;
    case Op::sigmoid:
    case Op::hardsigmoid:
    case Op::softmax: return unit;
    case Op::tanh:
    case Op::erf:
    case Op::sin:
    case Op::cos: return either;
    case Op::log_softmax: return {-infinity, 0};
    case Op::add: return {in(0).low + in(1).low, in(0).high + in(1).high};
    case Op::sub: return {in(0).low - in(1).high, in(0).high - in(1).low};
    case Op::mul: return node.operands[0] == node.operands[1] ? positive : times(in(0), in(1));
    case Op::div: return in(0).within(0, infinity) && in(1).within(0, infinity) ? positive : Range{};
    case Op::maximum: return {std::max(in(0).low, in(1).low), std::max(in(0).high, in(1).high)};
    case Op::minimum: return {std::min(in(0).low, in(1).low), std::min(in(0).high, in(1).high)};
    case Op::where: return hull(in(1), in(2));
    case Op::sum: return in(0).within(0, infinity) ? positive : Range{};
    case Op::concat: return all();
    case Op::pad:
      return node.attributes.text("mode") != "constant"
                 ? in(0)
                 : hull(in(0), {node.attributes.number("value"), node.attributes.number("value")});
    case Op::tril:
    case Op::triu:
    case Op::avg_pool: return hull(in(0), zero);
    case Op::update_slice: return all();
    case Op::cast:
    case Op::mean:
    case Op::amax:
    case Op::amin:
    case Op::max_pool:
    case Op::adaptive_max_pool:
    case Op::adaptive_avg_pool:
    case Op::gather:
    case Op::index:
    case Op::sort:
    case Op::topk:
    case Op::flip:
    case Op::roll: return in(0);
    default: return info(node.op).family == Family::view ? in(0) : Range{};
  }
}

}  // namespace

bool Range::is_fixed_by(const std::function<double(double)>& formula) const {
  auto is_fixed = [&](double x) { return x < low || x > high || formula(x) == x; };
  for (double sign : {1.0, -1.0})
    for (int exponent = -40; exponent <= 120; ++exponent)
      for (double part : {1.0, 1.5})
        if (!is_fixed(sign * part * std::exp2(exponent / 2.0))) return false;
  return is_fixed(0) && (std::isinf(low) || is_fixed(low)) && (std::isinf(high) || is_fixed(high));
}

std::vector<Range> ranges_of(const Graph& graph) {
  std::vector<Range> out(graph.values.size());
  for (const Node& node : graph.nodes) {
    if (std::ranges::any_of(node.operands, [](ValueId id) { return id == ValueId::none; })) continue;
    Range range = of_node(node, out);
    // A sum of infinities says nothing.
    if (std::isnan(range.low)) range.low = -infinity;
    if (std::isnan(range.high)) range.high = infinity;
    if (is_floating(graph.type(node.results[0]).dtype)) out[index_of(node.results[0])] = range;
  }
  return out;
}

}  // namespace stitch::verifier
