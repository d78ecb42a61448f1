// From a model's answer to a program, for both styles of the LLM Coder.
#pragma once

#include "agents/llm/region_brief.h"
#include "code/written.h"

namespace stitch::agents {

// A line "// workspace: BYTES" in a source requests scratch memory.
plan::Source source_from(const RegionBrief& brief, std::string text, std::string author);
Result<Draft> draft_of(const Situation& now, const Proposal& step, plan::Plan plan, std::string author);
// Until the budget ends, or a stop is requested.
llm::AskOptions ask_options(const Situation& now);

}  // namespace stitch::agents
