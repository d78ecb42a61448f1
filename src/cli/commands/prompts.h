// stitchcuda prompts: shows the prompts of LLM brains, and checks a folder of others.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"

namespace stitch {

struct PromptsCommand {
  std::string action;  // list, show, check
  std::string name;    // of a prompt; check: a folder
  std::string folder;  // whose prompts replace the built-in ones
};

Result<int> run_prompts(const PromptsCommand& command, Console& console);

}  // namespace stitch
