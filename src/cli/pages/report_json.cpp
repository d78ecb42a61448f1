// The report as a program reads it. Plain units: bytes, operations, seconds.
#include <nlohmann/json.hpp>

#include "cli/pages/report.h"

namespace stitch {

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
