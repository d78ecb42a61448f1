#include "reference/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "base/machine/parallel.h"
#include "oracle/philox.h"

namespace stitch::verifier {

double rounding_of(const Graph& graph, const Node& node, Numerics numerics) {
  constexpr double ten_bits = 0x1p-11, single = 0x1p-22;
  DType dtype = graph.type(node.results[0]).dtype;
  if (dtype == DType::f16 || numerics == Numerics::half) return ten_bits;
  if (dtype == DType::bf16) return 0x1p-8;
  bool convolves = info(node.op).family == Family::convolution || node.op == Op::rnn;
  bool multiplies = cost(graph, node).matrix_flops > 0;
  if (numerics == Numerics::standard && convolves) return ten_bits;
  if (numerics == Numerics::tf32 && (convolves || multiplies)) return ten_bits;
  return single;
}

double coarsest_rounding(const Graph& graph, size_t first, size_t last, Numerics numerics) {
  double unit = 0;
  for (size_t n = first; n < last; ++n) unit = std::max(unit, rounding_of(graph, graph.nodes[n], numerics));
  return unit;
}

oracle::Tensor perturbed(const oracle::Tensor& tensor, double unit, uint64_t seed) {
  if (!tensor.floating()) return tensor;
  oracle::Tensor out(tensor.dtype(), tensor.shape());
  const double* from = tensor.data<double>();
  double* to = out.writable<double>();
  oracle::PhiloxKey key = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  parallel_for((tensor.elements() + 3) / 4, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = 4 * begin; i < std::min(4 * end, tensor.elements()); i += 4) {
      auto words = oracle::philox({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0}, key);
      for (int64_t k = 0; k < 4 && i + k < tensor.elements(); ++k)
        to[i + k] = from[i + k] * (1 + unit * (words[static_cast<size_t>(k)] * 0x1p-31 - 1));
    }
  });
  return out;
}

double relative_change(const oracle::Tensor& a, const oracle::Tensor& b) {
  if (!a.floating()) return 0;
  const double *x = a.data<double>(), *y = b.data<double>();
  constexpr int64_t stretch = 1 << 16;
  struct Sums {
    double change = 0, norm = 0;
  };
  std::vector<Sums> parts(static_cast<size_t>((a.elements() + stretch - 1) / stretch));
  parallel_for(std::ssize(parts), 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      Sums& sums = parts[static_cast<size_t>(part)];
      for (int64_t i = part * stretch; i < std::min((part + 1) * stretch, a.elements()); ++i) {
        if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
        sums.change += (x[i] - y[i]) * (x[i] - y[i]);
        sums.norm += y[i] * y[i];
      }
    }
  });
  Sums all;
  for (const Sums& part : parts) all = {all.change + part.change, all.norm + part.norm};
  return all.norm > 0 ? std::sqrt(all.change / all.norm) : 0;
}

Result<std::vector<oracle::Tensor>> rounded_between(const Graph& graph, const std::vector<std::string>& nodes,
                                                    oracle::Known known, const std::vector<ValueId>& writes) {
  constexpr double single = 0x1p-22;
  for (const Node& node : graph.nodes) {
    if (std::ranges::find(nodes, graph[node.results[0]].name) == nodes.end()) continue;
    STITCH_TRY(std::vector<oracle::Tensor> made, oracle::evaluate(graph, known, node.results));
    for (size_t i = 0; i < made.size(); ++i) {
      const ValueId id = node.results[i];
      const bool between = std::ranges::find(writes, id) == writes.end();
      known.insert_or_assign(id, between ? perturbed(made[i], single, index_of(id)) : std::move(made[i]));
    }
  }
  return oracle::evaluate(graph, std::move(known), writes);
}

Result<std::vector<oracle::Tensor>> rounded_everywhere(const Graph& graph, oracle::Known known,
                                                       std::span<const ValueId> wanted, Numerics numerics,
                                                       uint64_t seed) {
  const double unit = coarsest_rounding(graph, 0, graph.nodes.size(), numerics);
  for (auto& [id, tensor] : known) tensor = perturbed(tensor, unit, seed + index_of(id));
  for (const Node& node : graph.nodes) {
    STITCH_TRY(std::vector<oracle::Tensor> made, oracle::evaluate(graph, known, node.results));
    for (size_t i = 0; i < made.size(); ++i)
      known.insert_or_assign(node.results[i], perturbed(made[i], rounding_of(graph, node, numerics),
                                                        seed + index_of(node.results[i])));
  }
  return oracle::evaluate(graph, std::move(known), wanted);
}

}  // namespace stitch::verifier
