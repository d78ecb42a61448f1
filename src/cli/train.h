// stitchcuda train: the compact Coder learns which choices are fast.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"

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
  std::string reward_kind = "rule";
  std::string skill = "both";
  std::string timings;  // empty: timings.jsonl in the output folder
  int members = 6;
  int64_t steps = 40;
  int warm_up = 60;
  int patience = 2;
  int questions = 16, answers = 8;
  double rate = 3e-3, kl = 0.03, entropy = 0.01, first_entropy = 0.1;
  std::vector<double> cautions;  // to compare with, besides the one that training finds
  uint64_t seed = 1;
  int choices = 24, jobs = 4;
  double measure_seconds = 0;
  bool measure_only = false;
  bool disputed = false;    // measure only regions that the cost model would choose otherwise for
  std::string calibration;  // a file: another cost model to compare with
};

Result<int> run_train(const TrainCommand& command, Console& console);

}  // namespace stitch
