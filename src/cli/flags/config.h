// stitchcuda config: which defaults are set, and where.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"

namespace stitch {

struct ConfigCommand {
  std::string command;  // empty: of all commands, what is set
};

Result<int> run_config(const ConfigCommand& command, Console& console);

}  // namespace stitch
