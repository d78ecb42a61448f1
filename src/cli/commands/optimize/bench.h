// stitchcuda bench: many tasks optimised and summarised.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/commands/cluster.h"
#include "cli/console.h"
#include "graph/mode.h"

namespace stitch {

struct BenchCommand {
  std::vector<std::string> paths;  // .py tasks, or folders of them
  std::string out;
  bool force = false;  // over what is in the way of the output
  std::string numerics = "default";
  std::string device = "auto";
  std::string baselines = "auto";
  std::string known_baselines;  // a JSONL file
  std::string python;
  Mode mode = Mode::as_written;
  int jobs = 0;  // 0: chosen
  int budget = 40;
  int time_limit = 3600;  // seconds for one task
  int deadline = 0;       // seconds of wall time per task; 0: none
  bool no_timing = false;
  bool quick = false;
  std::string compatible;     // kernelbench
  std::string coder_weights;  // of the compact Coder; empty: none
  bool no_tune = false;
  bool recall = false;
  std::string store;
  ClusterFlags cluster;
};

Result<int> run_bench(const BenchCommand& command, Console& console);

// `summary`: summary.json.
// What a reader needs to know of the figures, a sentence each: "notes" of summary.json.
std::vector<std::string> notes_on_bench(const Json& summary);
std::string bench_text(const Json& summary, const Terminal& terminal);

}  // namespace stitch
