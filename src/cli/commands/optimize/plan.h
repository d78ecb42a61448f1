// stitchcuda plan: what the built-in Planner would do with a model.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "graph/mode.h"

namespace stitch {

struct PlanCommand {
  std::string model;
  std::string numerics = "default";
  std::string compatible;  // kernelbench
  std::string gpu;         // empty: the one in this machine, or else an H200
  std::string model_class;
  std::vector<std::string> dynamic;  // sizes that change from call to call
  Mode mode = Mode::as_written;
  std::string python;
  std::string html;           // empty: no page
  std::string out;            // the document; empty: none
  std::string plan;           // a document to read instead of planning
  std::string coder_weights;  // of the compact Coder; empty: none
  bool schema = false;
  bool force = false;  // overwrite existing output
};

Result<int> run_plan(const PlanCommand& command, Console& console);

}  // namespace stitch
