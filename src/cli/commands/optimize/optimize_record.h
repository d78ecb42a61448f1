// What a run was started with, so that it can be started again.
#pragma once

#include <string>

#include "cli/commands/optimize/optimize.h"

namespace stitch {

// JSON; paths are absolute: it may be resumed from elsewhere.
std::string record_of(const OptimizeCommand& command);
Result<OptimizeCommand> read_command(const std::string& record);
// The compact Coder's weights as a process in another folder finds them: those that ship have a name, no
// path.
std::string place_of_coder(const std::string& weights);

}  // namespace stitch
