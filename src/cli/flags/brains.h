// Which brains play the roles, and what language models may spend: flags of optimize and bench.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agents/llm/llm_session.h"
#include "cli/flags/flags.h"

namespace stitch {

struct BrainFlags {
  std::string planner = "builtin", coder = "builtin", verifier = "builtin";
  std::string coder_style = "answer";
  int llm_regions = 3;
  int llm_samples = 1;
  int llm_rounds = 1;
  int llm_budget = 600;  // seconds
  bool whole_program = false;
  int64_t max_tokens = 0;  // 0: no limit
  double max_dollars = 0;  // 0: no limit
  std::string config, prompts, notes;
};

// `over`: what the limits of tokens and dollars are for.
void add_brains(Flags& flags, BrainFlags& brains, const std::string& over);

Result<agents::LlmOptions> llm_options(const BrainFlags& brains);
// Whether the models' profiles and keys are there, before many processes say that they aren't.
Result<void> check_brains(const BrainFlags& brains);

// The flags that differ from the defaults, for `optimize` in another process: paths are absolute, and each of
// `tasks` has its share of tokens and dollars.
std::vector<std::string> words_of(const BrainFlags& brains, size_t tasks);

}  // namespace stitch
