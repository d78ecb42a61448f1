// The regions that stitchcuda train is about: of which tasks, in which split.
#pragma once

#include <map>

#include "cli/commands/learn/train.h"
#include "learn/coder/timings.h"

namespace stitch {

struct TrainProblems {
  std::vector<learn::RegionProblem> train, validation, test;
  std::map<std::string, std::vector<learn::RegionProblem>> evaluation;  // by the set's name
  int tasks = 0;
  std::vector<std::string> left_out;
  std::vector<learn::RegionProblem> all() const;
};

// Tasks are planned side by side. `known`: only tasks that it has times of; null: all.
Result<TrainProblems> read_train_problems(const TrainCommand& command, const GpuSpec& gpu, Numerics numerics,
                                          const learn::Timings* known,
                                          const std::function<void(const std::string&)>& on_task);

}  // namespace stitch
