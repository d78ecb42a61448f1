// What an LLM Coder must know about a region: contract, semantics, current code.
#pragma once

#include <string>
#include <vector>

#include "agents/llm/llm_brains.h"
#include "code/region_code.h"

namespace stitch::agents {

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
