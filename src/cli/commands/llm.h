// stitchcuda llm: which LLM servers are known, and whether one of them works.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/console.h"

namespace stitch {

struct LlmCommand {
  std::string action;   // list or ask
  std::string profile;  // of ask: PROFILE[/MODEL]
  std::string text;     // of ask
  std::string system;
  std::string config;      // a file instead of the usual ones
  std::string transcript;  // a file that gets the exchange as a line
  bool stream = false;     // show the answer as it comes
  int64_t max_tokens = 0;  // 0: the profile's
};

Result<int> run_llm(const LlmCommand& command, Console& console);

}  // namespace stitch
