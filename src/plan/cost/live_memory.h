// Peak memory between regions, compared with running node by node.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

struct LiveMemory {
  std::vector<int64_t>
      at;  // by region: values and scratch while it runs; the regions of a section are at once
  int64_t peak = 0;
};
// Weights, values computed from weights alone, inputs and library workspaces are not counted.
LiveMemory live_memory(const Context& context, const Plan& plan);

// An error: at the largest sizes of its ranges the program would take more than the GPU has.
Result<void> check_memory(const Context& context, const Plan& plan);

// The peak of a framework that runs nodes in order and frees each result after its last use, plus a margin
// smaller than its libraries' workspaces.
int64_t memory_allowed(const Graph& graph);

}  // namespace stitch::plan
