#include "cli/pages/page.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "cli/pages/html.h"
#include "cli/pages/layout.h"

namespace stitch {

// Made from page/page.* by cmake/embed.cmake.
extern const std::string_view embedded_page_html, embedded_page_js, embedded_base_css, embedded_graph_css;

namespace {

constexpr double box_width = 172, box_height = 46, small_height = 26, pill_height = 30;

// The block a module belongs to: "layer1.0.conv1" is in "layer1.0", "encoder.proj" in "encoder".
std::string block_of(const std::string& module) {
  std::vector<std::string> parts = split(module, '.');
  for (size_t i = 1; i < parts.size(); ++i)
    if (!parts[i].empty() && std::isdigit(static_cast<unsigned char>(parts[i][0])))
      return join(std::span(parts).first(i + 1), ".");
  return parts.size() > 1 ? parts[0] : std::string();
}

// Nodes from which no output follows and that cost next to nothing: counters of batches, mostly.
std::vector<bool> mere_bookkeeping(const Report& report) {
  const Graph& graph = report.graph;
  std::vector<bool> wanted(graph.values.size());
  auto want = [&](ValueId id) {
    if (id != ValueId::none) wanted[index_of(id)] = true;
  };
  std::ranges::for_each(graph.outputs, want);
  std::vector<bool> out(graph.nodes.size());
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    bool follows = std::ranges::any_of(node.results, [&](ValueId id) { return wanted[index_of(id)]; });
    if (follows || report.floor.share(n) > 0.0005 || graph.outputs.empty())
      std::ranges::for_each(node.operands, want);
    else
      out[n] = true;
  }
  return out;
}

// The picture's items: inputs, nodes, outputs, in this order.
struct Picture {
  Drawing drawing;
  std::vector<ValueId> inputs;
  std::vector<size_t> nodes;  // those that are drawn
};

Picture picture_of(const Report& report) {
  const Graph& graph = report.graph;
  Picture out;
  out.inputs = graph.inputs();
  std::vector<int> maker(graph.values.size(), -1);
  auto& items = out.drawing.items;
  if (!report.frames.empty()) out.drawing.least_framed = 2;  // regions: every fusion shows
  for (ValueId id : out.inputs) {
    maker[index_of(id)] = static_cast<int>(items.size());
    items.push_back({box_width, pill_height, {}, true});
  }
  std::set<std::pair<int, int>> seen;
  auto arrow_to_last = [&](ValueId id) {
    if (id == ValueId::none || maker[index_of(id)] < 0) return;
    std::pair<int, int> ends{maker[index_of(id)], static_cast<int>(items.size()) - 1};
    if (seen.insert(ends).second) out.drawing.arrows.push_back(ends);
  };
  std::vector<bool> left_out = mere_bookkeeping(report);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (left_out[n]) continue;
    const Node& node = graph.nodes[n];
    bool small = report.floor.nodes[n].seconds() == 0;
    for (ValueId id : node.results) maker[index_of(id)] = static_cast<int>(items.size());
    items.push_back({box_width, small ? small_height : box_height,
                     report.frames.empty() ? block_of(node.module) : report.frames[n]});
    std::ranges::for_each(node.operands, arrow_to_last);
    out.nodes.push_back(n);
  }
  for (ValueId id : graph.outputs) {
    items.push_back({box_width, pill_height, {}});
    arrow_to_last(id);
  }
  return out;
}

Json fact(std::string what, std::string value, std::string note) {
  return {{"what", std::move(what)}, {"value", std::move(value)}, {"note", std::move(note)}};
}

Json facts(const Report& report) {
  const GraphCost& cost = report.cost;
  double matrix = cost.total.flops > 0 ? cost.total.matrix_flops / cost.total.flops : 0;
  return Json::array(
      {fact("Parameters", count_text(static_cast<double>(cost.parameters)), "tied weights counted once"),
       fact("FLOPs", si(cost.total.flops), format("{:.1f} % in matrix products", matrix * 100)),
       fact("Minimum traffic", bytes_text(cost.boundary_bytes),
            "inputs, parameters, buffers and outputs, once each"),
       fact("Unfused traffic", bytes_text(cost.total.bytes), "every operand and result through memory"),
       fact("Peak memory", bytes_text(static_cast<double>(cost.peak_bytes)),
            "ops in order, results freed after use"),
       fact("Nodes", std::to_string(report.graph.nodes.size()),
            format("{} kinds of op", report.kinds.size()))});
}

Json floor_facts(const Report& report) {
  const Floor& floor = report.floor;
  return {{"gpu", report.gpu.name},           {"text", seconds_text(floor.seconds())},
          {"bound", bound_text(floor)},       {"memory", seconds_text(floor.memory)},
          {"memory_seconds", floor.memory},   {"compute", seconds_text(floor.compute)},
          {"compute_seconds", floor.compute}, {"launch", seconds_text(floor.launch)},
          {"launch_seconds", floor.launch},   {"bandwidth", si(report.gpu.bandwidth, "B/s")},
          {"source", name(report.gpu.source)}};
}

Json value_rows(const Graph& graph, const std::vector<ValueId>& ids) {
  Json out = Json::array();
  for (ValueId id : ids)
    if (id != ValueId::none) out.push_back({graph[id].name, text(graph.type(id)), name(graph[id].role)});
  return out;
}

Json node_data(const Report& report, size_t n) {
  const Node& node = report.graph.nodes[n];
  const Cost& cost = report.cost.nodes[n];
  const NodeFloor& floor = report.floor.nodes[n];
  return {{"kind", "node"},
          {"name", node_name(report.graph, node)},
          {"op", info(node.op).name},
          {"type", text(report.graph.type(node.results[0]))},
          {"attributes", attributes_text(node)},
          {"operands", value_rows(report.graph, node.operands)},
          {"results", value_rows(report.graph, node.results)},
          {"flops", cost.flops ? si(cost.flops) : ""},
          {"bytes", cost.bytes ? bytes_text(cost.bytes) : ""},
          {"intensity", intensity_text(cost)},
          {"floor", floor.seconds() > 0 ? seconds_text(floor.seconds()) : ""},
          {"bound", bound_text(report, n)},
          {"share", report.floor.share(n)},
          {"where", node.where},
          {"module", node.module}};
}

Json value_data(const Graph& graph, ValueId id, const char* kind) {
  return {{"kind", kind}, {"name", graph[id].name}, {"op", kind}, {"type", text(graph.type(id))}};
}

Json kind_data(const OpKind& kind) {
  return {{"op", info(kind.op).name},
          {"doc", info(kind.op).doc},
          {"count", kind.count},
          {"flops", kind.cost.flops},
          {"flops_text", kind.cost.flops ? si(kind.cost.flops) : ""},
          {"bytes", kind.cost.bytes},
          {"bytes_text", kind.cost.bytes ? bytes_text(kind.cost.bytes) : ""},
          {"intensity", intensity(kind.cost)},
          {"intensity_text", intensity_text(kind.cost)},
          {"share", kind.share}};
}

double tenths(double value) { return std::round(value * 10) / 10; }

Json page_data(const Report& report) {
  const Graph& graph = report.graph;
  Picture picture = picture_of(report);
  Layout layout = lay_out(picture.drawing);
  Json data = {{"name", graph.name},     {"source", report.source},       {"floor", floor_facts(report)},
               {"facts", facts(report)}, {"width", tenths(layout.width)}, {"height", tenths(layout.height)}};
  data["left_out"] = graph.nodes.size() - picture.nodes.size();
  if (report.plan) data["plan"] = *report.plan;
  Json& kinds = data["ops"] = Json::array();
  for (const OpKind& kind : report.kinds) kinds.push_back(kind_data(kind));
  Json& items = data["items"] = Json::array();
  for (ValueId id : picture.inputs) items.push_back(value_data(graph, id, "input"));
  for (size_t n : picture.nodes) items.push_back(node_data(report, n));
  for (ValueId id : graph.outputs) items.push_back(value_data(graph, id, "output"));
  for (size_t i = 0; i < items.size(); ++i) {
    const Layout::Box& box = layout.boxes[i];
    items[i]["box"] = {tenths(box.x), tenths(box.y), box.width, box.height};
  }
  Json& lines = data["lines"] = Json::array();
  for (const Layout::Line& line : layout.lines)
    lines.push_back({line.from, line.to, line.far ? 1 : 0, line.path});
  Json& frames = data["frames"] = Json::array();
  for (const Layout::Frame& frame : layout.frames)
    frames.push_back({frame.group, tenths(frame.box.x), tenths(frame.box.y), tenths(frame.box.width),
                      tenths(frame.box.height)});
  return data;
}

// JSON inside a script element: no "</script>" or "<!--" may appear, so every '<' is spelt out.
std::string inside_script(std::string json) {
  std::string out;
  for (char c : json)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

std::string fill(std::string_view page, const std::map<std::string, std::string, std::less<>>& parts) {
  std::string out;
  for (size_t at = 0; at < page.size();) {
    size_t open = page.find("{{", at);
    size_t close = open == std::string_view::npos ? open : page.find("}}", open);
    out += page.substr(at, open - at);
    if (close == std::string_view::npos) break;
    auto part = parts.find(page.substr(open + 2, close - open - 2));
    require(part != parts.end(), "page.html names only parts that are there");
    out += part->second;
    at = close + 2;
  }
  return out;
}

}  // namespace

std::string report_page(const Report& report) {
  std::string data = line_text(page_data(report));
  return fill(embedded_page_html, {{"title", escaped(printable(report.graph.name))},
                                   {"css", std::string(embedded_base_css) + std::string(embedded_graph_css)},
                                   {"js", std::string(embedded_page_js)},
                                   {"data", inside_script(std::move(data))}});
}

}  // namespace stitch
