// stitchcuda import: Python tasks become graph folders.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "graph/mode.h"

namespace stitch {

struct ImportOptions {
  std::vector<std::string> paths;  // .py files, or folders of them with `all`
  std::string out;                 // the graph folder; with several tasks the folder that holds theirs
  std::string model_class;         // empty: Model
  Mode mode = Mode::as_written;
  bool force = false;  // over what is in the way of the output
  int64_t seed = 42;
  bool all = false;
  bool weights = true;  // false: only the graph
  int jobs = 0;         // 0: one a core
  std::string python;
};

Result<int> run_import(const ImportOptions& options, Console& console);

}  // namespace stitch
