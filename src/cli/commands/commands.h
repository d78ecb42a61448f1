// Every command: its name, its flags, its body. The table is in commands.cpp.
#pragma once

#include <span>

#include "cli/flags/flags.h"

namespace stitch {

struct CommandRow {
  const char* name;
  void (*add_flags)(CLI::App& app, Options& options);
  Result<int> (*run)(const Options& options, Console& console);
};

// In the order of the help.
std::span<const CommandRow> all_commands();

}  // namespace stitch
