// stitchcuda package: a program's sources become a folder that builds and runs by itself.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "graph/mode.h"

namespace stitch {

struct PackageCommand {
  std::string program, task, out;
  std::string weights;  // a safetensors file; empty: the one in the program's folder, if there is one
  bool force = false;   // overwrite existing output
  std::string model_class;
  Mode mode = Mode::as_written;
  std::string python;
  std::string gpu;
};

Result<int> run_package(const PackageCommand& command, Console& console);

}  // namespace stitch
