// stitchcuda optimize: a model in, a verified CUDA program out.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/console.h"
#include "cli/flags/flags.h"

namespace stitch {

struct OptimizeCommand : BrainFlags, JudgingFlags {
  std::string model, out;
  bool force = false;  // over what is in the way of the output
  std::string gpu;
  std::string plan;           // a file; empty: the loop's own steps
  std::string coder_weights;  // of the compact Coder; empty: none
  TaskOptions task_options{.dynamic = std::vector<std::string>()};
  std::string html;            // empty: report.html in the program's folder
  int budget = 40;             // seconds
  int deadline = 0;            // seconds of wall time; 0: none
  double pytorch_seconds = 0;  // a call of the best PyTorch, measured earlier; 0: not known
  std::string ledger = "estimated";
  std::string weights = "auto";  // in the package: auto, always, never
  bool no_tune = false;
  bool no_recall = false;
  double memory = 1;
  bool exit_slower = false;  // exit code 1 if the best PyTorch is faster
  std::string store;         // a file; empty: where runs are kept; "none": not at all
  std::string resume;        // a run of the store to resume
};

Result<int> run_optimize(const OptimizeCommand& command, Console& console);

// What a run was started with, so that it can be started again.

// JSON; paths are absolute: it may be resumed from elsewhere.
std::string record_of(const OptimizeCommand& command);
Result<OptimizeCommand> read_command(const std::string& record);
// The compact Coder's weights as a process in another folder finds them: those that ship have a name, no
// path.
std::string place_of_coder(const std::string& weights);

}  // namespace stitch
