// stitchcuda package: a program's sources become a folder that builds and runs by itself.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"

namespace stitch {

struct PackageCommand {
  std::string program, task, out;
  std::string model_class;
  std::string gpu;
};

Result<int> run_package(const PackageCommand& command, Console& console);

}  // namespace stitch
