// Everything `show` reports about a graph, computed once for the tables, and for the JSON that the page is
// made of.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal/terminal.h"
#include "gpu/floor.h"
#include "graph/cost.h"

namespace stitch {

struct OpKind {
  Op op;
  int count = 0;
  Cost cost;
  double seconds = 0;  // its nodes' floors, each alone
  double share = 0;    // of all nodes' floors
};

struct Report {
  const Graph& graph;  // which must outlive this
  std::string source;
  GraphCost cost;
  GpuSpec gpu;
  Floor floor;
  std::vector<OpKind> kinds;     // the heaviest first
  std::vector<size_t> heaviest;  // every node, the heaviest first
};

Report make_report(const Graph& graph, std::string source, const GpuSpec& gpu);

// The words and numbers both share.
std::string_view bound_text(const Report& report, size_t node);  // "compute", "memory" or "free"
std::string_view bound_text(const Floor& floor);  // of the whole: "compute", "memory" or "launch"
double intensity(const Cost& cost);               // FLOP per byte; 0 if no bytes move
std::string intensity_text(const Cost& cost);
std::string share_text(double share);
std::string count_text(double count);           // 11.69 M: four digits, for parameters
std::string microseconds_text(double seconds);  // 12.34
std::string shapes_text(const Graph& graph, const Node& node, bool utf8);
std::string attributes_text(const Node& node);  // those that differ from their defaults
const std::string& node_name(const Graph& graph, const Node& node);

std::string report_text(const Report& report, const Terminal& terminal, bool all_nodes);
Json report_json(const Report& report);

}  // namespace stitch
