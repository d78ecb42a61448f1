// Memory between regions: how much of it a plan holds at once, beside what running node by node would.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

struct LiveMemory {
  std::vector<int64_t>
      at;  // by region: values and scratch while it runs; the regions of a section are at once
  int64_t peak = 0;
};
// What is made of weights alone is not counted, nor are weights, inputs and what libraries ask for.
LiveMemory live_memory(const Context& context, const Plan& plan);

// As frameworks run a model: nodes in order, each result freed after its last use; and a little beside it,
// less than a framework's libraries take.
int64_t memory_allowed(const Graph& graph);

}  // namespace stitch::plan
