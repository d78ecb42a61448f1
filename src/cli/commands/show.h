// stitchcuda show: what a model computes, and what that must cost on a GPU.
#pragma once

#include <string>

#include "cli/console.h"
#include "graph/graph.h"
#include "import/task.h"

namespace stitch {

struct ShowOptions {
  std::string model;
  std::string gpu;     // empty: the one in this machine, or else an H200
  std::string html;    // a page to write, instead of the tables
  bool force = false;  // overwrite existing output
  bool text = false;
  bool ops = false;
  TaskOptions task_options{.weights = false};
};

Result<int> run_show(const ShowOptions& options, Console& console);
// The same for a graph that is there already; `source` says where it came from.
Result<int> show_graph(const Graph& graph, const std::string& source, const ShowOptions& options,
                       Console& console, const TaskFacts& task = nullptr);

}  // namespace stitch
