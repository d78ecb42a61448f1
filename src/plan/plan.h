// The plan: which nodes are computed together, how, and how values lie in memory between them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace stitch::plan {

// How a value lies in memory between regions.
struct Storage {
  DType dtype = DType::f32;
  std::vector<int64_t> order;  // dimensions, outermost first; empty: row-major

  bool operator==(const Storage&) const = default;
};

// A connected piece of the graph implemented as one unit.
struct Region {
  std::string name;             // a C identifier made from the model's own names
  std::string technique;        // which family of the Coder writes it: "loop", "matmul.cublaslt", …
  std::vector<int32_t> nodes;   // in graph order
  std::vector<ValueId> reads;   // inputs, states, the seed, or other regions' writes; not parameters
  std::vector<ValueId> writes;  // what outputs, updates or other regions need
  std::map<std::string, int64_t> settings;  // tiles, algorithm numbers: what a tuner may change
  // Neighbours with the same section run side by side, those of a branch one after the other; 0: alone.
  int section = 0, branch = 0;
};

// One item of the to-do list: what it changes, and what that is predicted to gain.
struct Step {
  std::string title;
  std::string why;
  std::vector<std::string> regions;  // by name, as they are after the step
  double predicted_gain = 0;         // seconds
};

struct Plan {
  std::string numerics = "default";
  std::vector<Storage> storage;  // by value
  std::vector<Region> regions;   // in the order in which they run
  bool one_graph = true;         // the whole forward pass is captured and replayed
  std::map<int32_t, bool> tf32;  // convolutions by node, where PyTorch was seen to use it, or not to
  std::vector<Step> steps;
};

// Storage as the ABI and the graph have it, no regions yet.
Plan empty_plan(const Graph& graph, std::string numerics);
// reads and writes of a region from its nodes: what it needs from outside, and what others need from it.
void complete(const Graph& graph, Region& region);
// Which regions make the same in every run, from weights and constants alone: they run when the program is
// created.
std::vector<bool> constant_regions(const Graph& graph, const Plan& plan);
// The regions of a section: from the first of the two to the one before the second.
struct Section {
  size_t first = 0, end = 0;
  int branches = 0;
};
std::vector<Section> sections_of(const Plan& plan);
// Every node covered exactly once, contracts meet, an order that can run. Errors name the region.
Result<void> check(const Graph& graph, const Plan& plan);

}  // namespace stitch::plan
