// Anything a user may call a model, as a graph: a .py task, a graph folder, or a graph.txt.
#pragma once

#include <string>

#include "cli/console.h"
#include "graph/graph.h"
#include "graph/mode.h"

namespace stitch {

struct LoadOptions {
  std::string model_class;  // empty: Model
  Mode mode = Mode::as_written;
  std::string python;  // empty: the usual one
};

struct Loaded {
  Graph graph;
  std::string source;  // what was loaded, as the user named it
  TaskFacts task;
};

// Weights are not looked at, and not exported.
Result<Loaded> load_model(const std::string& path, const LoadOptions& options, Console& console);

}  // namespace stitch
