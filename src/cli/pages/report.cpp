#include "cli/pages/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "plan/constants.h"

namespace stitch {

namespace {

// Of a call: what depends on weights alone is computed once, when a program is created.
GraphCost cost_of_a_call(const Graph& graph) {
  GraphCost out = cost(graph);
  const std::set<ValueId> constants = plan::constant_values(graph);
  out.total = {};
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (constants.contains(graph.nodes[n].results[0])) out.nodes[n] = {};
    out.total += out.nodes[n];
  }
  return out;
}

}  // namespace

Report make_report(const Graph& graph, std::string source, const GpuSpec& gpu) {
  GraphCost total = cost_of_a_call(graph);
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

// The report as a person reads it in a terminal.

namespace {

using enum Column::Align;

// Short enough for one screen; --ops asks for more.
constexpr size_t most_kinds = 30, most_nodes = 15, most_values = 8;

std::string header(const Report& report, const Terminal& terminal) {
  const Graph& graph = report.graph;
  std::string dot = terminal.utf8 ? " · " : ", ";
  std::string out = styled(printable(graph.name.empty() ? "(no name)" : graph.name), Style::bold, terminal);
  if (!report.source.empty()) out += "  " + styled(printable(report.source), Style::dim, terminal);
  out += '\n' + counted(std::ssize(graph.nodes), "node") + dot +
         count_text(static_cast<double>(report.cost.parameters)) + " parameters";
  if (!graph.updates.empty()) out += dot + counted(std::ssize(graph.updates), "buffer") + " updated";
  return out + "\n\n";
}

std::string borders(const Report& report, const Terminal& terminal) {
  const Graph& graph = report.graph;
  Table table({{}, {.cut = Cut::start, .least = 10, .most = 48}, {.least = 12}});
  auto list = [&](const char* title, const std::vector<ValueId>& ids) {
    for (size_t i = 0; i < ids.size() && i < most_values; ++i)
      table.add_row({i ? "" : title, graph[ids[i]].name, Cell(text(graph.type(ids[i])), Style::dim)});
    if (ids.size() > most_values)
      table.add_row({"", Cell(format("and {} more", ids.size() - most_values), Style::dim), ""});
  };
  list("inputs", graph.inputs());
  list("outputs", graph.outputs);
  return table.empty() ? "" : table.render(terminal) + "\n";
}

std::string kinds(const Report& report, const Terminal& terminal) {
  Table table({{.header = "op"},
               {.header = "count", .align = right},
               {.header = "FLOPs", .align = right},
               {.header = "bytes", .align = right},
               {.header = "FLOP/B", .align = right, .optional = 1},
               {.header = "limit us", .align = right, .optional = 2},
               {.header = "share", .align = right}});
  auto row = [&](std::string name, int count, const Cost& cost, double seconds, double share) {
    table.add_row({std::move(name), std::to_string(count), cost.flops ? si(cost.flops) : "",
                   cost.bytes ? bytes_text(cost.bytes) : "", intensity_text(cost), microseconds_text(seconds),
                   share_text(share)});
  };
  OpKind rest{};
  size_t shown = report.kinds.size() > most_kinds ? most_kinds - 1 : report.kinds.size();
  for (size_t i = 0; i < report.kinds.size(); ++i) {
    const OpKind& kind = report.kinds[i];
    if (i < shown) {
      row(std::string(info(kind.op).name), kind.count, kind.cost, kind.seconds, kind.share);
      continue;
    }
    rest.count += kind.count;
    rest.cost += kind.cost;
    rest.seconds += kind.seconds;
    rest.share += kind.share;
  }
  if (rest.count)
    row(format("{} more kinds", report.kinds.size() - shown), rest.count, rest.cost, rest.seconds,
        rest.share);
  table.add_rule();
  row("each alone", static_cast<int>(report.graph.nodes.size()), report.cost.total, report.floor.alone,
      report.floor.alone > 0 ? 1 : 0);
  return table.render(terminal) + "\n";
}

std::string nodes(const Report& report, const Terminal& terminal, bool all) {
  const Graph& graph = report.graph;
  size_t count = all ? graph.nodes.size() : std::min(most_nodes, graph.nodes.size());
  Table table({{.header = "node", .cut = Cut::start, .least = 12, .most = 40},
               {.header = "op"},
               {.header = "shapes", .least = 14, .optional = 4},
               {.header = "FLOPs", .align = right},
               {.header = "bytes", .align = right},
               {.header = "FLOP/B", .align = right, .optional = 2},
               {.header = "bound", .optional = 1},
               {.header = "limit us", .align = right},
               {.header = "share", .align = right},
               {.header = "where", .cut = Cut::start, .least = 9, .optional = 5}});
  for (size_t i = 0; i < count; ++i) {
    size_t n = all ? i : report.heaviest[i];
    const Node& node = graph.nodes[n];
    const Cost& cost = report.cost.nodes[n];
    table.add_row({node_name(graph, node), std::string(info(node.op).name),
                   Cell(shapes_text(graph, node, terminal.utf8), Style::dim),
                   cost.flops ? si(cost.flops) : "", cost.bytes ? bytes_text(cost.bytes) : "",
                   intensity_text(cost), std::string(bound_text(report, n)),
                   microseconds_text(report.floor.nodes[n].seconds()), share_text(report.floor.share(n)),
                   Cell(node.where.substr(0, node.where.find(',')), Style::dim)});
  }
  std::string title =
      all ? "All nodes, in order"
          : format("The {} heaviest of {} nodes (--ops lists all)", count, graph.nodes.size());
  if (!all && count == graph.nodes.size()) title = "All nodes, the heaviest first";
  return styled(title, Style::bold, terminal) + "\n" + table.render(terminal) + "\n";
}

std::string totals(const Report& report, const Terminal& terminal) {
  const GraphCost& cost = report.cost;
  const Floor& floor = report.floor;
  const GpuSpec& gpu = report.gpu;
  Table table({{}, {.align = right}, {.least = 20, .optional = 1}});
  auto row = [&](std::string what, std::string value, std::string note) {
    table.add_row({std::move(what), std::move(value), Cell(std::move(note), Style::dim)});
  };
  double matrix = cost.total.flops > 0 ? cost.total.matrix_flops / cost.total.flops : 0;
  row("parameters", count_text(static_cast<double>(cost.parameters)), "tied weights counted once");
  row("FLOPs", si(cost.total.flops), format("{:.1f} % in matrix products", matrix * 100));
  row("bytes, unfused", bytes_text(cost.total.bytes), "every operand and result through memory");
  row("bytes, minimum", bytes_text(cost.boundary_bytes), "inputs, parameters, buffers, outputs, once each");
  std::string fits = static_cast<double>(cost.peak_bytes) <= gpu.memory
                         ? format("of {} on {}", bytes_text(gpu.memory), gpu.name)
                         : format("more than the {} of {}", bytes_text(gpu.memory), gpu.name);
  row("peak memory", bytes_text(static_cast<double>(cost.peak_bytes)),
      fits + ", ops in order, results freed after use");
  row(format("theoretical limit on {}", gpu.name), seconds_text(floor.seconds()),
      format("{} bound: memory {} at {} ({}), arithmetic {}, launch {}", bound_text(floor),
             seconds_text(floor.memory), si(gpu.bandwidth, "B/s"), name(gpu.source),
             seconds_text(floor.compute), seconds_text(floor.launch)));
  return table.render(terminal);
}

}  // namespace

std::string report_text(const Report& report, const Terminal& terminal, bool all_nodes) {
  std::string out = header(report, terminal) + borders(report, terminal);
  if (!report.graph.nodes.empty()) out += kinds(report, terminal) + nodes(report, terminal, all_nodes);
  return out + totals(report, terminal);
}

// The report as a program reads it. Plain units: bytes, operations, seconds.

namespace {

Json value_json(const Graph& graph, ValueId id) {
  return {{"name", graph[id].name}, {"type", text(graph.type(id))}, {"role", name(graph[id].role)}};
}

Json values_json(const Graph& graph, const std::vector<ValueId>& ids) {
  Json out = Json::array();
  for (ValueId id : ids)
    if (id != ValueId::none) out.push_back(value_json(graph, id));
  return out;
}

Json kind_json(const OpKind& kind) {
  return {{"op", info(kind.op).name},      {"doc", info(kind.op).doc}, {"count", kind.count},
          {"flops", kind.cost.flops},      {"bytes", kind.cost.bytes}, {"intensity", intensity(kind.cost)},
          {"floor_seconds", kind.seconds}, {"share", kind.share}};
}

Json node_json(const Report& report, size_t n) {
  const Node& node = report.graph.nodes[n];
  const Cost& cost = report.cost.nodes[n];
  return {{"name", node_name(report.graph, node)},
          {"op", info(node.op).name},
          {"operands", values_json(report.graph, node.operands)},
          {"results", values_json(report.graph, node.results)},
          {"attributes", attributes_text(node)},
          {"flops", cost.flops},
          {"matrix_flops", cost.matrix_flops},
          {"bytes", cost.bytes},
          {"intensity", intensity(cost)},
          {"bound", bound_text(report, n)},
          {"floor_seconds", report.floor.nodes[n].seconds()},
          {"share", report.floor.share(n)},
          {"where", node.where},
          {"module", node.module}};
}

}  // namespace

Json report_json(const Report& report) {
  const GraphCost& cost = report.cost;
  const Floor& floor = report.floor;
  Json out = {{"name", report.graph.name},
              {"source", report.source},
              {"inputs", values_json(report.graph, report.graph.inputs())},
              {"outputs", values_json(report.graph, report.graph.outputs)},
              {"updates", report.graph.updates.size()},
              {"totals",
               {{"nodes", report.graph.nodes.size()},
                {"parameters", cost.parameters},
                {"flops", cost.total.flops},
                {"matrix_flops", cost.total.matrix_flops},
                {"bytes_each_op_alone", cost.total.bytes},
                {"bytes_at_the_borders", cost.boundary_bytes},
                {"peak_bytes", cost.peak_bytes}}},
              {"gpu",
               {{"name", report.gpu.name},
                {"bandwidth", report.gpu.bandwidth},
                {"tensor_fp16", report.gpu.tensor_fp16},
                {"fp32", report.gpu.fp32},
                {"source", name(report.gpu.source)},
                {"measured", report.gpu.measured()}}},
              {"floor",
               {{"seconds", floor.seconds()},
                {"memory_seconds", floor.memory},
                {"compute_seconds", floor.compute},
                {"launch_seconds", floor.launch},
                {"bound", bound_text(floor)},
                {"numerics", "default"}}}};
  Json& kinds = out["ops"] = Json::array();
  for (const OpKind& kind : report.kinds) kinds.push_back(kind_json(kind));
  Json& nodes = out["nodes"] = Json::array();
  for (size_t n = 0; n < report.graph.nodes.size(); ++n) nodes.push_back(node_json(report, n));
  return out;
}

}  // namespace stitch
