// stitchcuda memory: what earlier runs leave for later ones.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"

namespace stitch {

struct MemoryCommand {
  std::string action;  // show, export, merge, forget
  std::string what;    // merge: a file; show, forget: the beginning of a graph's hash or a kind of region
  std::string store, out;
  bool force = false;
};

Result<int> run_memory(const MemoryCommand& command, Console& console);

}  // namespace stitch
