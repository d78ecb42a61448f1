// Every command: its name, and the function that adds its flags and says what to run. The table is in
// commands.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// The whole command line as one object: every command with its flags, for the parser, the help, the man page
// and the shells' completions.

struct CommandLine {
  std::map<std::string, Run> commands;
  std::string log;  // a file; empty: none
  bool version = false;
};
// `app` and `line` must outlive parsing.
void add_command_line(CLI::App& app, CommandLine& line);

std::vector<std::string> command_names(const CLI::App& app);
// With the nearest command as a suggestion.
Error unknown_command(const CLI::App& app, const std::string& word);

// What a flag takes, in the order of the help; nothing: anything, or a path.
std::vector<std::string_view> choices_of(std::string_view command, std::string_view flag);

// A numerics class and its error budget: the same lines in the help of every command that has --numerics.
struct NumericsLine {
  std::string_view name, budget;
};
const std::vector<NumericsLine>& numerics_lines();
constexpr std::string_view numerics_note =
    "Errors are relative L2 errors against float64, PyTorch's on the same inputs. Baselines run in the same "
    "class.";

}  // namespace stitch
