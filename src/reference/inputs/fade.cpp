#include "reference/inputs/fade.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "graph/op.h"
#include "oracle/philox.h"
#include "reference/inputs/draw.h"

namespace stitch::verifier {

namespace {

template <class Is>
bool any_node(const Graph& graph, const std::vector<std::string>& nodes, Is&& is) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return is(node) && std::ranges::find(nodes, graph[node.results[0]].name) != nodes.end();
  });
}

// What an index along a dimension is scaled by. The sizes between one and the faintest are dealt out evenly,
// so that a few rows are enough to have some at any epsilon.
std::vector<double> factors(int64_t size, size_t axis, const Fading& fading) {
  std::vector<double> out(static_cast<size_t>(size), 1.0);
  if (size < 2) return out;
  const auto stream = static_cast<int64_t>(axis);
  const double start =
      oracle::uniform(oracle::random_bits(static_cast<int64_t>(fading.seed), stream, 0)[0], 53);
  constexpr double golden = 0.6180339887498949;
  for (int64_t i = 0; i < size; ++i) {
    const double place = std::fmod(start + static_cast<double>(i) * golden, 1.0);
    constexpr double faint_until = 0.5;
    if (place < faint_until) out[static_cast<size_t>(i)] = std::pow(fading.faintest, place / faint_until);
  }
  // One at least, however few there are; and one as faint as can be, which any larger epsilon changes.
  constexpr int64_t of_so_many = 8, enough_to_stay_bright = 4;
  const int64_t first = static_cast<int64_t>(start * of_so_many) % std::min(size, of_so_many);
  for (int64_t i = first; fading.zeros && i < size; i += of_so_many) out[static_cast<size_t>(i)] = 0;
  if (size >= enough_to_stay_bright) out[static_cast<size_t>((first + 1) % size)] = fading.faintest;
  return out;
}

}  // namespace

bool has_epsilon(const Graph& graph, const std::vector<std::string>& nodes) {
  return any_node(graph, nodes, [](const Node& node) {
    constexpr std::array ops = {Op::div,        Op::reciprocal, Op::sqrt,    Op::rsqrt, Op::log,
                                Op::pow,        Op::clamp,      Op::var,     Op::norm,  Op::batch_norm,
                                Op::layer_norm, Op::group_norm, Op::rms_norm};
    return std::ranges::find(ops, node.op) != ops.end();
  });
}

bool has_maximum(const Graph& graph, const std::vector<std::string>& nodes) {
  return any_node(graph, nodes, [](const Node& node) {
    constexpr std::array ops = {Op::amax,        Op::max_pool,     Op::adaptive_max_pool,
                                Op::cummax,      Op::logsumexp,    Op::softmax,
                                Op::log_softmax, Op::logcumsumexp, Op::attention};
    return std::ranges::find(ops, node.op) != ops.end();
  });
}

bool is_product(const Node& node) {
  const Family family = info(node.op).family;
  return family == Family::linear_algebra || family == Family::convolution || family == Family::sequence;
}

bool has_product(const Graph& graph, const std::vector<std::string>& nodes) {
  return any_node(graph, nodes, is_product);
}

bool has_product(const Graph& graph) { return std::ranges::any_of(graph.nodes, is_product); }

oracle::Tensor faded(const oracle::Tensor& tensor, const Fading& fading) {
  if (!tensor.floating()) return tensor;
  const Shape& shape = tensor.shape();
  const std::vector<int64_t> strides = contiguous_strides(shape);
  std::vector<std::vector<double>> along;
  for (size_t axis = 0; axis < shape.size(); ++axis) along.push_back(factors(shape[axis], axis, fading));
  oracle::Tensor out(tensor.dtype(), shape);
  const double* from = tensor.data<double>();
  double* to = out.writable<double>();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    double factor = 1;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      factor *= along[axis][static_cast<size_t>(i / strides[axis] % shape[axis])];
    if (factor != 0) factor = std::max(factor, fading.faintest);
    to[i] = std::isfinite(from[i]) ? from[i] * factor : from[i];
  }
  return out;
}

oracle::Tensor with_extremes(const oracle::Tensor& tensor, Extremes where, uint64_t seed) {
  if (!tensor.floating()) return tensor;
  oracle::Tensor out(tensor.dtype(), tensor.shape());
  const std::span<double> values(out.writable<double>(), static_cast<size_t>(out.elements()));
  std::ranges::copy_n(tensor.data<double>(), tensor.elements(), values.begin());
  if (where == Extremes::ends) {
    plant_ends(seed, out.shape(), values);
    return out;
  }
  for (size_t i = 0; i < values.size(); ++i)
    values[i] =
        -100 - 100 * oracle::uniform(
                         oracle::random_bits(static_cast<int64_t>(seed), 0, static_cast<int64_t>(i))[0], 53);
  return out;
}

}  // namespace stitch::verifier
