// stitchcuda completion SHELL: a script that completes commands, flags and their values.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"

namespace CLI {
class App;
}

namespace stitch {

struct CompletionCommand {
  std::string shell;
};

Result<int> run_completion(const CompletionCommand& command, Console& console);

// Made from the commands and flags of `app`.
std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

}  // namespace stitch
