// For tests of plans: a graph's text in, its regions out, by the Coder's own techniques on an H200.
#pragma once

#include "base/text.h"
#include "code/catalogue.h"
#include "graph/text.h"
#include "plan/choose.h"
#include "plan/steps.h"

namespace stitch {

inline const GpuSpec& h200() {
  static const GpuSpec gpu = *find_gpu("H200");
  return gpu;
}

inline plan::Context context_of(const Graph& graph, Numerics numerics = Numerics::standard) {
  return {graph, h200(), numerics};
}

inline Graph graph_of(const std::string& text) {
  auto graph = parse_graph(text);
  if (!graph) throw Bug(graph.error().text());
  return *std::move(graph);
}

// "technique: op op" a region, in order.
inline std::vector<std::string> regions_of(const Graph& graph, const plan::Plan& plan) {
  std::vector<std::string> out;
  for (const plan::Region& region : plan.regions) {
    std::vector<std::string> ops;
    for (int32_t n : region.nodes) ops.emplace_back(info(graph.node(n).op).name);
    out.push_back(format("{}: {}", region.technique->name(), join(ops, " ")));
  }
  return out;
}

inline std::vector<std::string> planned(const std::string& text) {
  Graph graph = graph_of(text);
  auto plan = plan::make_plan(context_of(graph), code::catalogue());
  if (!plan) throw Bug(plan.error().text());
  return regions_of(graph, *plan);
}

using Lines = std::vector<std::string>;

}  // namespace stitch
