// stitchcuda code: the program that the built-in Planner and Coder make of a model, without running it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "graph/mode.h"

namespace stitch {

struct CodeCommand {
  std::string model, out;
  bool force = false;  // over what is in the way of the output
  std::string numerics = "default";
  std::string model_class;
  Mode mode = Mode::as_written;
  std::string gpu;
  std::string python;
  std::string plan;        // a document to read instead of planning
  std::string compatible;  // kernelbench
  bool plain = false;
  std::vector<std::string> without;  // steps, by name
  std::string weights = "auto";      // in the package: auto, always, never
  bool rounding = false;             // steps that optimize keeps only if a Verifier accepts them
};

Result<int> run_code(const CodeCommand& command, Console& console);

}  // namespace stitch
