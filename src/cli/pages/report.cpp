#include "cli/pages/report.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace stitch {

Report make_report(const Graph& graph, std::string source, const GpuSpec& gpu) {
  GraphCost total = cost(graph);
  Floor floor = floor_of(graph, total, gpu);
  Report out{graph, std::move(source), std::move(total), gpu, std::move(floor), {}, {}};

  std::vector<OpKind> by_op(op_count);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    OpKind& kind = by_op[static_cast<size_t>(graph.nodes[n].op)];
    kind.op = graph.nodes[n].op;
    ++kind.count;
    kind.cost += out.cost.nodes[n];
    kind.seconds += out.floor.nodes[n].seconds();
    kind.share += out.floor.share(n);
  }
  std::erase_if(by_op, [](const OpKind& kind) { return kind.count == 0; });
  std::ranges::stable_sort(by_op, [](const OpKind& a, const OpKind& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.count > b.count;
  });
  out.kinds = std::move(by_op);

  out.heaviest.resize(graph.nodes.size());
  std::iota(out.heaviest.begin(), out.heaviest.end(), size_t{0});
  std::ranges::stable_sort(out.heaviest, std::ranges::greater{},
                           [&](size_t n) { return out.floor.nodes[n].seconds(); });
  return out;
}

std::string_view bound_text(const Report& report, size_t node) {
  const NodeFloor& floor = report.floor.nodes[node];
  if (floor.seconds() == 0) return "free";
  return floor.compute_bound() ? "compute" : "memory";
}

std::string_view bound_text(const Floor& floor) {
  if (floor.launch > std::max(floor.memory, floor.compute)) return "launch";
  return floor.compute_bound() ? "compute" : "memory";
}

double intensity(const Cost& cost) { return cost.bytes > 0 ? cost.flops / cost.bytes : 0; }

std::string intensity_text(const Cost& cost) {
  if (cost.bytes == 0 || cost.flops == 0) return "";
  double value = intensity(cost);
  return format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

std::string share_text(double share) {
  if (share == 0) return "";
  if (share < 0.0005) return "<0.1 %";
  return format("{:.1f} %", share * 100);
}

std::string count_text(double count) {
  if (count < 9999.5) return format("{:.0f}", count);
  constexpr std::string_view prefixes = "kMGT";
  size_t step = 0;
  for (count /= 1000; count >= 999.95 && step + 1 < prefixes.size(); ++step) count /= 1000;
  int decimals = count < 9.9995 ? 3 : count < 99.995 ? 2 : 1;
  return format("{:.{}f} {}", count, decimals, prefixes[step]);
}

std::string microseconds_text(double seconds) { return seconds == 0 ? "" : format("{:.2f}", seconds * 1e6); }

std::string shapes_text(const Graph& graph, const Node& node, bool utf8) {
  std::string result = text(graph.type(node.results[0]));
  if (node.operands.empty() || node.operands[0] == ValueId::none) return result;
  const TensorType& operand = graph.type(node.operands[0]);
  bool same_dtype = operand.dtype == graph.type(node.results[0]).dtype;
  if (operand.shape == graph.type(node.results[0]).shape && same_dtype) return result;
  return format("{} {} {}", same_dtype ? text(operand.shape) : text(operand), utf8 ? "→" : "->", result);
}

std::string attributes_text(const Node& node) {
  std::string out;
  const OpInfo& entry = info(node.op);
  size_t i = 0;
  for (const auto& [key, value] : node.attributes) {
    const AttributeSpec& spec = entry.attributes[i++];
    if (!spec.required && same(value, spec.value)) continue;
    out += format("{}{}={}", out.empty() ? "" : " ", key, text(value));
  }
  return out;
}

const std::string& node_name(const Graph& graph, const Node& node) { return graph[node.results[0]].name; }

}  // namespace stitch
