// A command's help: usage, flags by theme, examples. Text is wrapped to the terminal, never cut.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/terminal/terminal.h"

namespace CLI {

class App;
class Option;

class App;

}  // namespace CLI

namespace stitch {

// "stitchcuda optimize MODEL -o FOLDER [flags]"
std::string usage_of(const CLI::App& app);
// "-o, --out FOLDER"
std::string spelling_of(const CLI::Option& option);
// Flags by theme, in the order of their declaration; the first theme has no title of its own.
struct FlagGroup {
  std::string title;
  std::vector<const CLI::Option*> flags;
};
std::vector<FlagGroup> flags_by_group(const CLI::App& app);

std::string help_text(const CLI::App& app, const Terminal& terminal);

// stitchcuda completion SHELL: a script that completes commands, flags and their values.

// Made from the commands and flags of `app`.
std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

}  // namespace stitch
