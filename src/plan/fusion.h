// Fusion boundaries: which nodes become one region.
#pragma once

#include <functional>

#include "plan/plain_plan.h"

namespace stitch::plan {

// What the Coder can do with a set of nodes; asked before every merge.
struct Techniques {
  Classify plain;  // the technique that writes the region as it is
  // Can this technique write the region?
  std::function<bool(std::string_view technique, const Graph& graph, const Region& region)> accepts;
  // Seconds that a region of loops takes by the memory that its kernels move and their starts; where it is
  // not given, every merge that can be written counts as a gain.
  std::function<double(const Graph& graph, const Region& region)> loop_seconds = nullptr;
};

// Products, convolutions, attention and recurrences by the techniques that are expected to be fastest.
Result<Plan> choose_techniques(const Graph& graph, Plan plan, const Techniques& techniques);
// What follows a product and only it, inside its region.
Result<Plan> fuse_epilogues(const Graph& graph, Plan plan, const Techniques& techniques);
// Views that only an attention reads, inside its region: it reads through them where the values lie.
Result<Plan> absorb_views(const Graph& graph, Plan plan, const Techniques& techniques);
// Element-wise nodes and reductions, producers into their only consumers, as far as one kernel can go.
Result<Plan> fuse_loops(const Graph& graph, Plan plan, const Techniques& techniques);

}  // namespace stitch::plan
