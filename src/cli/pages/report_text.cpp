// The report as a person reads it in a terminal.
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/pages/report.h"

namespace stitch {

namespace {

using enum Column::Align;

// Short enough for one screen; --ops asks for more.
constexpr size_t most_kinds = 30, most_nodes = 15, most_values = 8;

std::string plural(size_t count, std::string_view noun) {
  return format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string header(const Report& report, const Terminal& terminal) {
  const Graph& graph = report.graph;
  std::string dot = terminal.utf8 ? " · " : ", ";
  std::string out = styled(printable(graph.name.empty() ? "(no name)" : graph.name), Style::bold, terminal);
  if (!report.source.empty()) out += "  " + styled(printable(report.source), Style::dim, terminal);
  out += '\n' + plural(graph.nodes.size(), "node") + dot +
         count_text(static_cast<double>(report.cost.parameters)) + " parameters";
  if (!graph.updates.empty()) out += dot + plural(graph.updates.size(), "buffer") + " updated";
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

}  // namespace stitch
