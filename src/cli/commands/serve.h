// stitchcuda serve: the reward service. stitchcuda worker: judges for one on another machine.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/commands/cluster.h"
#include "cli/console.h"
#include "graph/mode.h"

namespace stitch {

struct ServeCommand {
  std::string tasks;
  std::string host = "127.0.0.1";
  int port = 8130;  // 0: any that is free
  std::string token_env;
  std::string state;  // a folder; empty: beside the store
  std::string device = "auto";
  std::string numerics = "default";
  std::string baselines = "auto";
  std::string reward = "combined";
  std::string compatible;
  bool quick = false;
  bool timing = true;
  bool shared_processes = false;
  int jobs = 0;  // 0: one per core
  int time_limit = 60;
  int queue = 4096;
  int answer_within = 100;
  int most_body = 8;  // MB
  int lease = 60;     // seconds
  bool judge_here = true;
  Mode mode = Mode::as_written;
  std::string python;
  ClusterFlags cluster;
};
Result<int> run_serve(const ServeCommand& command, Console& console);

struct WorkerCommand {
  std::string server;
  std::string token_env;
  std::string device = "auto";
  int jobs = 0;  // 0: 1 on a GPU, else one per core
  int idle = 0;  // seconds; 0: never exits
  int patience = 120;
  std::string python;
};
Result<int> run_worker(const WorkerCommand& command, Console& console);

}  // namespace stitch
