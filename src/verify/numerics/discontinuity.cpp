#include "verify/numerics/discontinuity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "oracle/philox.h"
#include "reference/sensitivity.h"
#include "verify/numerics/order_of_equals.h"

namespace stitch::verifier {

namespace {

constexpr int variants = 8;
constexpr double roundings_before = 4;  // rounding happens at every node before the jump

bool jumps(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::sign:
    case Op::signbit:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::trunc:
    case Op::fmod:
    case Op::remainder:
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::argmax:
    case Op::argmin:
    case Op::sort:
    case Op::topk:
    case Op::searchsorted:
    case Op::any:
    case Op::all:
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor: return true;
    case Op::div: return node.attributes.text("rounding") != "none";
    case Op::cast: return !is_floating(graph.type(node.results[0]).dtype);
    // Positions beside the values.
    case Op::max_pool:
    case Op::adaptive_max_pool:
    case Op::cummax:
    case Op::cummin: return node.results.size() > 1;
    default: return false;
  }
}

// Exact operands give an exact result on any device.
bool keeps_exact(const Graph& graph, const Node& node) {
  const Family family = info(node.op).family;
  if (family == Family::view || family == Family::movement || family == Family::indexing ||
      family == Family::create)
    return true;
  constexpr std::array exact = {Op::neg,     Op::abs,     Op::relu, Op::clamp, Op::where,
                                Op::minimum, Op::maximum, Op::amax, Op::amin,  Op::cast};
  return jumps(graph, node) || std::ranges::find(exact, node.op) != exact.end();
}

// By value: was it rounded on its way from the inputs?
std::vector<bool> rounded_values(const Graph& graph) {
  std::vector<bool> rounded(graph.values.size());
  for (const Node& node : graph.nodes) {
    const bool from_rounded = std::ranges::any_of(
        node.operands, [&](ValueId id) { return id != ValueId::none && rounded[index_of(id)]; });
    for (ValueId id : node.results) rounded[index_of(id)] = from_rounded || !keeps_exact(graph, node);
  }
  return rounded;
}

bool is_moved(const Graph& graph, ValueId id, const std::vector<bool>& rounded) {
  return id != ValueId::none && rounded[index_of(id)] && is_floating(graph.type(id).dtype);
}

// Where a value was rounded: what a clamp holds at its bound is exact, however rounded it came.
ValueId before_bounds(const Graph& graph, const std::vector<int32_t>& makers, ValueId id) {
  while (id != ValueId::none && makers[index_of(id)] >= 0) {
    const Node& node = graph.node(makers[index_of(id)]);
    const bool bounds = node.op == Op::clamp || node.op == Op::relu || info(node.op).family == Family::view;
    if (!bounds || !is_floating(graph.type(node.operands[0]).dtype)) break;
    id = node.operands[0];
  }
  return id;
}

bool has_nan(const oracle::Tensor& tensor) {
  if (!tensor.floating()) return false;
  const double* values = tensor.data<double>();
  return std::any_of(values, values + tensor.elements(), [](double x) { return std::isnan(x); });
}

// As a product with a rounded reciprocal may be another number than the quotient.
Result<void> without_odd_quotients(const Graph& graph, const Node& node,
                                   std::span<const oracle::Tensor* const> operands,
                                   oracle::Tensor& quotients) {
  auto single = [](const oracle::Tensor& tensor, auto formula) {
    oracle::Tensor out = tensor.copy();
    for (int64_t i = 0; i < out.elements(); ++i)
      out.writable<double>()[i] = static_cast<double>(static_cast<float>(formula(out.data<double>()[i])));
    return out;
  };
  const oracle::Tensor inverse = single(*operands[1], [](double x) { return 1 / x; });
  const std::array<const oracle::Tensor*, 2> factors = {operands[0], &inverse};
  STITCH_TRY(const std::vector<oracle::Tensor> products,
             oracle::evaluate_node(graph, {.op = Op::mul, .operands = node.operands, .results = node.results},
                                   factors));
  const oracle::Tensor rounded = single(products[0], [](double x) { return x; });
  quotients = quotients.copy();
  for (int64_t i = 0; i < quotients.elements(); ++i)
    if (rounded.data<double>()[i] != quotients.data<double>()[i])
      quotients.writable<double>()[i] = std::numeric_limits<double>::quiet_NaN();
  return {};
}

// Sums, differences, products and most quotients of numbers of few bits are exact in any precision. By value:
// what is left of it when all that it is made of is cut to that many bits, and NaN where anything else was
// computed.
oracle::Known of_few_bits(const Graph& graph, const oracle::Known& given, const std::vector<bool>& rounded) {
  constexpr int bits = 8;  // bf16 holds them
  auto cut = [](const oracle::Tensor& tensor) {
    if (!tensor.floating()) return tensor;
    oracle::Tensor out(tensor.dtype(), tensor.shape());
    const double* from = tensor.data<double>();
    double* to = out.writable<double>();
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      int exponent = 0;
      const double fraction = std::frexp(from[i], &exponent);
      const bool few = std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits) == from[i];
      to[i] = few ? from[i] : std::numeric_limits<double>::quiet_NaN();
    }
    return out;
  };
  // What was only chosen so far is as it is: the largest of many may have few bits where others have not.
  oracle::Known known, chosen = given;
  for (const auto& [id, tensor] : given) known.emplace(id, cut(tensor));
  for (const Node& node : graph.nodes) {
    const bool exact = node.op == Op::add || node.op == Op::sub || node.op == Op::mul || node.op == Op::div ||
                       keeps_exact(graph, node);
    std::vector<const oracle::Tensor*> operands;
    bool here = exact;
    oracle::Known& from = rounded[index_of(node.results[0])] ? known : chosen;
    for (ValueId id : node.operands) {
      const auto found = from.find(id);
      here &= id == ValueId::none || found != from.end();
      // NaN is lost in a comparison.
      here &= found == from.end() || &from == &chosen || !jumps(graph, node) || !has_nan(found->second);
      operands.push_back(found == from.end() ? nullptr : &found->second);
    }
    if (!here || known.contains(node.results[0])) continue;
    auto results = oracle::evaluate_node(graph, node, operands);
    if (results && node.op == Op::div && (*results)[0].floating() &&
        !without_odd_quotients(graph, node, operands, (*results)[0]))
      continue;
    for (size_t i = 0; results && i < results->size(); ++i) {
      known.insert_or_assign(node.results[i], cut((*results)[i]));
      if (&from == &chosen) chosen.insert_or_assign(node.results[i], (*results)[i]);
    }
  }
  return known;
}

// Each element by `unit` of its own size, or of the tensor's where it is smaller than most. What is as in
// `exact`, if there is one, stays.
oracle::Tensor moved(const oracle::Tensor& tensor, const oracle::Tensor* exact, double unit, int variant,
                     bool opposite, uint64_t seed) {
  oracle::Tensor out(tensor.dtype(), tensor.shape());
  const double* from = tensor.data<double>();
  double* to = out.writable<double>();
  double squares = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) squares += std::isfinite(from[i]) ? from[i] * from[i] : 0;
  const double rms = tensor.elements() ? std::sqrt(squares / static_cast<double>(tensor.elements())) : 0;
  const int64_t stream = variant;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    double sign = variant == 0 ? 1 : -1;
    if (variant > 1)
      sign = oracle::random_bits(static_cast<int64_t>(seed), stream, i)[0] & 1 ? 1 : -1;
    else if (opposite)
      sign = -sign;
    const bool stays = exact && exact->data<double>()[i] == from[i];
    to[i] = stays ? from[i] : from[i] + sign * unit * std::max(std::fabs(from[i]), rms);
  }
  return out;
}

// Positions of equal elements, the last of them first.
Result<oracle::Tensor> last_of_equals_first(const Graph& graph, const Node& node,
                                            const oracle::Tensor& ordered) {
  const int64_t dim = node.attributes.integer("dim"), axis = dim < 0 ? dim + ordered.rank() : dim;
  Node flip{.op = Op::flip, .operands = {node.operands[0]}, .results = {node.operands[0]}};
  flip.attributes.set("dims", std::vector<int64_t>{axis});
  const oracle::Tensor* operand = &ordered;
  STITCH_TRY(const std::vector<oracle::Tensor> flipped, oracle::evaluate_node(graph, flip, {&operand, 1}));
  operand = flipped.data();
  STITCH_TRY(const std::vector<oracle::Tensor> results, oracle::evaluate_node(graph, node, {&operand, 1}));
  oracle::Tensor out = results[1].copy();
  int64_t* positions = out.writable<int64_t>();
  for (int64_t i = 0; i < out.elements(); ++i)
    positions[i] = ordered.shape()[static_cast<size_t>(axis)] - 1 - positions[i];
  return out;
}

template <class T>
T number_at(const TensorBytes& tensor, int64_t i) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

}  // namespace

bool has_discontinuity(const Graph& graph) {
  const std::vector<bool> rounded = rounded_values(graph);
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (leaves_equals_in_any_order(node)) return true;
    return jumps(graph, node) &&
           std::ranges::any_of(node.operands, [&](ValueId id) { return is_moved(graph, id, rounded); });
  });
}

bool has_discontinuity(const Graph& graph, const std::vector<std::string>& nodes) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return jumps(graph, node) && std::ranges::find(nodes, graph[node.results[0]].name) != nodes.end();
  });
}

Result<std::vector<std::vector<oracle::Tensor>>> across_jumps(const Graph& graph, const oracle::Known& known,
                                                              std::span<const ValueId> wanted,
                                                              Numerics numerics, uint64_t seed) {
  const std::vector<bool> rounded = rounded_values(graph);
  const std::vector<int32_t> makers = producers(graph);
  const oracle::Known few = of_few_bits(graph, known, rounded);
  std::vector<std::vector<oracle::Tensor>> out;
  for (int variant = 0; variant <= variants; ++variant) {
    oracle::Known here = known;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (variant == variants) {
        if (!leaves_equals_in_any_order(node) || node.results.size() < 2 ||
            graph.type(node.operands[0]).rank() == 0)
          continue;
        STITCH_TRY(auto ordered, oracle::evaluate(graph, here, std::span(&node.operands[0], 1)));
        STITCH_TRY(oracle::Tensor positions, last_of_equals_first(graph, node, ordered[0]));
        here.insert_or_assign(node.results[1], std::move(positions));
        continue;
      }
      if (!jumps(graph, node)) continue;
      const double unit = roundings_before * coarsest_rounding(graph, 0, n, numerics);
      for (size_t o = 0; o < node.operands.size(); ++o) {
        const ValueId id = before_bounds(graph, makers, node.operands[o]);
        if (!is_moved(graph, id, rounded) || here.contains(id)) continue;
        auto made = oracle::evaluate(graph, here, std::span(&id, 1));
        if (!made) continue;
        const auto exact = few.find(id);
        here.insert_or_assign(id, moved((*made)[0], exact == few.end() ? nullptr : &exact->second, unit,
                                        variant, o == 1, seed + n));
      }
    }
    // Where an index jumps out of its range there is nothing to give.
    auto results = oracle::evaluate(graph, std::move(here), wanted);
    if (results) out.push_back(*std::move(results));
  }
  return out;
}

std::vector<std::byte> truth_at_jumps(const TensorBytes& values, const TensorBytes& truth,
                                      std::span<const oracle::Tensor> alternatives, double tolerance,
                                      int64_t& count) {
  std::vector<std::byte> out(truth.bytes.begin(), truth.bytes.end());
  const bool floats = is_floating(truth.type.dtype);
  const DType dtype = floats ? DType::f64 : DType::i64;
  // Both sides as float64 or as int64.
  auto of = [&](const TensorBytes& tensor) -> std::vector<std::byte> {
    auto read = oracle::Tensor::from_bytes(tensor.type.dtype, tensor.type.shape, tensor.bytes);
    return read ? read->to_bytes(dtype) : std::vector<std::byte>();
  };
  const std::vector<std::byte> got = of(values), exact = of(truth);
  std::vector<std::vector<std::byte>> others;
  for (const oracle::Tensor& one : alternatives) others.push_back(one.to_bytes(dtype));
  const TensorBytes got_view{{dtype, truth.type.shape, {}}, got},
      exact_view{{dtype, truth.type.shape, {}}, exact};
  if (got.size() != exact.size()) return out;
  std::vector<std::byte> accepted = exact;
  count = 0;
  for (int64_t i = 0; i < truth.type.elements(); ++i) {
    if (!floats) {
      const auto value = number_at<int64_t>(got_view, i);
      if (value == number_at<int64_t>(exact_view, i)) continue;
      const bool known = std::ranges::any_of(others, [&](const std::vector<std::byte>& other) {
        return number_at<int64_t>({{dtype, truth.type.shape, {}}, other}, i) == value;
      });
      if (!known) continue;
      std::memcpy(accepted.data() + i * 8, &value, 8);
      ++count;
      continue;
    }
    const double value = number_at<double>(got_view, i), expected = number_at<double>(exact_view, i);
    double low = expected, high = expected;
    for (const std::vector<std::byte>& other : others) {
      const double one = number_at<double>({{dtype, truth.type.shape, {}}, other}, i);
      low = std::min(low, one);
      high = std::max(high, one);
    }
    if (!(high - low > tolerance) || !(value >= low - tolerance && value <= high + tolerance)) continue;
    const double nearest = std::clamp(value, low, high);
    std::memcpy(accepted.data() + i * 8, &nearest, 8);
    count += std::fabs(value - expected) > tolerance;
  }
  if (floats) return accepted;
  auto read = oracle::Tensor::from_bytes(DType::i64, truth.type.shape, accepted);
  return read ? read->to_bytes(truth.type.dtype) : out;
}

}  // namespace stitch::verifier
