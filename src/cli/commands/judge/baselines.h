// stitchcuda baselines: PyTorch's own times of a task on this machine's GPU.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "graph/mode.h"

namespace stitch {

struct BaselinesCommand {
  std::vector<std::string> tasks;
  std::string baselines = "all";
  std::string numerics = "default";
  std::string python;
  Mode mode = Mode::as_written;
  int calls = 100;
};

Result<int> run_baselines(const BaselinesCommand& command, Console& console);

// eager, eager-graph, compile, compile-graph by name: all, none, or a list.
Result<std::vector<std::string>> baselines_named(const std::string& names);

}  // namespace stitch
