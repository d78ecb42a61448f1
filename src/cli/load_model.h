// Anything a user may call a model, as a graph: a .py task, a graph folder, or a graph.txt.
#pragma once

#include <string>

#include "cli/console.h"
#include "graph/graph.h"

namespace stitch {

struct LoadOptions {
  std::string model_class;  // empty: Model
  bool eval = false;        // import in eval mode
  std::string python;       // empty: the usual one
};

struct Loaded {
  Graph graph;
  std::string source;  // what was loaded, as the user named it
};

// Weights are not looked at, and not exported.
Result<Loaded> load_model(const std::string& path, const LoadOptions& options, Console& console);

}  // namespace stitch
