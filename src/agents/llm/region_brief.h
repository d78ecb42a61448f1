// What an LLM Coder must know about a region: contract, semantics, current code.
#pragma once

#include <string>
#include <vector>

#include "agents/llm/llm_session.h"
#include "agents/roles.h"
#include "code/region_code.h"
#include "plan/technique.h"

namespace stitch::agents {

// The card of facts of a region, the same for Planner, Coder and Verifier: what it takes and what of that is
// measured, its floor and what sets it, how its neighbours store what it reads and writes, what was tried.

struct RegionTime {
  double seconds = 0;
  bool measured = false;  // in the best program's call; else estimated
};
RegionTime time_of(const Situation& now, const plan::Plan& plan, const plan::Region& region);

std::string facts_of(const Situation& now, const plan::Plan& plan, const plan::Region& region);
// A line for each region of the plan, furthest from its floor first.
std::string facts_of(const Situation& now, const plan::Plan& plan);

// What limits a region of `seconds`, and one sentence that says so.
enum class Limit : uint8_t { at_floor, launches, conversions, memory, arithmetic };
Limit limit_of(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
               double seconds);
std::string limit_text(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
                       double seconds);

// What a region may become without new code: the techniques that accept it, their offers and knobs, the
// neighbours it may be joined with. For prompts of the Planner and of the Coder.

// One region: its present implementation, then the others.
std::string choices_of(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
                       const plan::Catalogue& catalogue);
// All regions, those of one kind together, and the neighbours that may be joined. Above `limit` bytes without
// the knobs of techniques that aren't chosen.
std::string choices_of(const plan::Context& context, const plan::Plan& plan, const plan::Catalogue& catalogue,
                       size_t limit);
// Regions that write what this one reads, and those that read what it writes, in the plan's order.
std::vector<const plan::Region*> neighbours(const plan::Plan& plan, const plan::Region& region);

struct RegionBrief {
  std::string region;
  std::string function;  // that the source has to define
  PromptValues values;   // of the Coder's prompts
};

Result<RegionBrief> brief_of(const Situation& now, const plan::Plan& plan, const std::string& region,
                             const Proposal& step, const LlmBrain& brain);

// The function of PyTorch's for an op: torch.NAME, F.NAME; the graph's own name where there is none.
// `spatial`: dimensions of a convolution or a pool.
std::string pytorch_name(Op op, size_t spatial);
// The region as PyTorch code, one line per node.
std::string region_in_pytorch(const Graph& graph, const plan::Region& region);
// The Verifier's findings as quoted text: the gate, its evidence, the suggestion.
std::string feedback_text(const Feedback& feedback);
// Tries at this step with their scores, and the source of this region in the best of them.
std::string siblings_text(const Situation& now, const std::string& region);
std::string hardware_text(const GpuSpec& gpu);
std::string numerics_text(Numerics numerics);

}  // namespace stitch::agents
