// stitchcuda runs: what earlier runs of optimize did, and going on with one that was cut short.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "cli/console.h"

namespace stitch {

struct RunsCommand {
  std::string action;             // list, show, diff, resume, export, page, remove
  std::vector<std::string> runs;  // ids, or beginnings of them
  std::string store, out;
  int most = 30;  // rows of the list; 0: all
  bool force = false;
};

Result<int> run_runs(const RunsCommand& command, Console& console);

// The file that --store names, or the usual one; empty: runs are not kept ("none").
fs::path store_file(const std::string& named);

}  // namespace stitch
