// stitchcuda rubric: scores a program by the rubric, and computes its reward.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "graph/mode.h"

namespace stitch {

struct RubricCommand {
  std::string program, task;
  std::string before, feedback;         // of a change; both or none
  std::string verdict, before_verdict;  // known ones; empty: it is verified now
  bool verify = true;
  std::string judge = "builtin";
  std::string reward = "combined";
  std::string numerics = "default";
  std::string device = "auto";
  std::string baselines = "auto";
  std::string gpu;
  bool quick = false;
  std::string model_class;
  Mode mode = Mode::as_written;
  std::string python;
  std::string config, prompts;
};

// 0 whatever the scores are.
Result<int> run_rubric(const RubricCommand& command, Console& console);

}  // namespace stitch
