// Every command: its name, and the function that adds its flags and says what to run. The table is in
// commands.cpp.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "cli/console.h"
#include "cli/flags/flags.h"

namespace stitch {

// The command with the flags that were parsed; 0 or another exit code.
using Run = std::function<Result<int>(Console&)>;

struct CommandRow {
  const char* name;
  Run (*add)(CLI::App& app);
};

// In the order of the help.
std::span<const CommandRow> all_commands();

}  // namespace stitch
