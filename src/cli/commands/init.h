// stitchcuda init: a stitchcuda.toml to start from.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"

namespace stitch {

struct InitCommand {
  std::string out = "stitchcuda.toml";
};

Result<int> run_init(const InitCommand& command, Console& console);

}  // namespace stitch
