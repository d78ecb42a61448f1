// stitchcuda write: a language model writes a whole candidate for a task, judged and improved by feedback.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "graph/mode.h"

namespace stitch {

struct WriteCommand {
  std::string model, out;
  bool force = false;
  std::string coder, verifier = "builtin";
  std::string form = "model-new";
  int tries = 4;
  int budget = 600;  // seconds
  std::string numerics = "default";
  std::string device = "auto";
  std::string gpu;
  std::string baselines = "auto";
  std::string model_class;
  Mode mode = Mode::as_written;
  std::string python;
  bool no_timing = false, quick = false;
  int64_t max_tokens = 0;  // 0: no limit
  double max_dollars = 0;  // 0: no limit
  std::string config, record, replay, prompts, notes;
};

Result<int> run_write(const WriteCommand& command, Console& console);

}  // namespace stitch
