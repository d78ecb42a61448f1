// The regions that stitchcuda train is about: of which tasks, in which split.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "learn/coder/collect.h"
#include "learn/coder/table.h"

namespace stitch {

struct TrainCommand {
  std::vector<std::string> tasks;     // graph folders, graph.txt files, folders of them
  std::vector<std::string> evaluate;  // NAME=PATH: to compare on, never to train on
  int synthetic = 0;                  // besides, so many composed ones
  uint64_t synthetic_seed = 1;
  int fold = -1;  // of five; -1: the fixed splits
  std::string out;
  std::string gpu, numerics = "default";
  std::string reward = "model";  // model, measured, run
  std::string timings;           // empty: timings.jsonl in the output folder
  learn::TrainOptions train;
  int choices = 24, jobs = 4;
  double measure_seconds = 0;
  bool measure_only = false;
  bool disputed = false;    // measure only regions that the cost model would choose otherwise for
  std::string calibration;  // a file: another cost model to compare with
};

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

// graph.txt files below a path that a user gave: a graph folder, a graph.txt, or a folder of them.
Result<std::vector<std::string>> graph_files(const std::string& path);

}  // namespace stitch
