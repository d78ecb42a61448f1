// From a model's answer to a program: what both styles of the LLM Coder have in common.
#pragma once

#include "agents/region_brief.h"
#include "code/written.h"

namespace stitch::agents {

// A line "// workspace: BYTES" of a source asks for scratch memory.
plan::Source source_from(const RegionBrief& brief, std::string text, std::string author);
Result<Draft> draft_of(const Situation& now, const Proposal& step, plan::Plan plan, std::string author);
// Until the budget ends, or somebody says stop.
llm::AskOptions ask_options(const Situation& now);

}  // namespace stitch::agents
