// A task, opened once and shared by all users: the graph, its weights, and what was said of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "graph/graph.h"
#include "graph/instances.h"
#include "graph/mode.h"
#include "graph/safetensors.h"
#include "import/import.h"

namespace stitch {

// How a .py file is read. A graph was imported already: it takes no class, and has to be of the mode.
struct TaskOptions {
  std::string model_class;  // empty: Model
  Mode mode = Mode::as_written;
  std::string python;    // empty: the usual one
  bool weights = true;   // false: the graph alone
  bool algebra = true;   // false: no pass that rounds elsewhere than the model does
  RewriteLimits limits;  // of the GPU that it is planned for
  // Sizes that change from call to call (--dynamic); empty: those that the task declares; nothing: none do.
  std::optional<std::vector<std::string>> dynamic;
};

struct Task {
  fs::path source;  // a .py file, a graph folder or a graph.txt
  TaskOptions options;
  std::string text;  // of the .py file; empty for a graph
  Graph graph;
  std::shared_ptr<const Safetensors> weights;  // null: opened or imported without
  TaskFacts facts;                             // as in task.json; null: there is none
  std::shared_ptr<const Instances> instances;  // null: for the graph's sizes alone

  // The graph that a plan is made of: at sizes that show what depends on them.
  const Graph& planned() const { return instances ? instances->all[0].graph : graph; }
  // Has a model that PyTorch can run.
  bool in_python() const { return is_python(source); }
  static bool is_python(const fs::path& source) { return source.extension() == ".py"; }
};

Result<std::shared_ptr<const Task>> open_task(const fs::path& source, const TaskOptions& options,
                                              const OnProgress& on_progress = {});
// The same, where a .py file is exported by a process that is there already.
Result<std::shared_ptr<const Task>> open_task(Exporter& exporter, const fs::path& source,
                                              const TaskOptions& options, const OnProgress& on_progress = {});

}  // namespace stitch
