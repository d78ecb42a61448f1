// What a run was started with, so that it can be started again.
#pragma once

#include <string>

#include "cli/optimize.h"

namespace stitch {

// JSON; paths are absolute: it may be resumed from elsewhere.
std::string record_of(const OptimizeCommand& command);
Result<OptimizeCommand> read_command(const std::string& record);

}  // namespace stitch
