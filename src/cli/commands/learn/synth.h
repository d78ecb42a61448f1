// stitchcuda synth: new tasks, composed from operators and blocks.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"

namespace stitch {

struct SynthCommand {
  int64_t count = 100;
  std::string out;
  uint64_t seed = 1;
  std::string gpu, python;
  std::string benchmark;            // sketches to stay away from; empty: KernelBench's
  std::vector<std::string> sketch;  // graphs to print the sketches of, instead
  double least = 1e-6, most = 2e-2, similar = 0.5;
  bool torch = true;
  bool force = false;
};

Result<int> run_synth(const SynthCommand& command, Console& console);

// graph.txt files below a path that a user gave: a graph folder, a graph.txt, or a folder of them.
Result<std::vector<std::string>> graph_files(const std::string& path);

}  // namespace stitch
