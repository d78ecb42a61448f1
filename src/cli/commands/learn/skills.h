// stitchcuda skills: rows for reinforcement learning, from synthetic tasks and from runs.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"

namespace stitch {

struct SkillsCommand {
  std::string action;             // build, stats, check
  std::vector<std::string> what;  // build: folders of synth; the others: the file of rows
  std::string out;                // build
  std::string store;              // of runs; "none": none
  std::string gpu;
  std::vector<std::string> benchmark;  // check: graphs, sketches or rows; empty: KernelBench
  double similar = 0.5;
  bool runs = false;  // build: rows of the run store, too
  bool force = false;
};

Result<int> run_skills(const SkillsCommand& command, Console& console);

}  // namespace stitch
