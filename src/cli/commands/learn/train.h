// stitchcuda train: the compact Coder learns which choices are fast.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "learn/coder/train.h"

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

Result<int> run_train(const TrainCommand& command, Console& console);

}  // namespace stitch
