// A step is the difference of two plans, by named regions: parts of it can be applied and others dropped.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "plan/technique.h"

namespace stitch::plan {

// The smallest part that can be applied on its own: regions over the same nodes, with all readers and writers
// of values whose storage changes.
struct Change {
  std::vector<std::string> before, after;  // regions by name, in order
  std::set<int32_t> nodes;                 // all that they cover
};

// In the order of their first nodes.
std::vector<Change> difference(const Graph& graph, const Plan& before, const Plan& after);

// `before` with these changes towards `after`, in execution order. Concurrent branches belong to the whole
// plan: they stay only if every change is applied.
Result<Plan> take_changes(const Graph& graph, const Plan& before, const Plan& after,
                          const std::vector<Change>& taken);

// A topological order, as close to the given one as possible. An error names a region that depends on itself.
Result<std::vector<Region>> in_running_order(const Graph& graph, std::vector<Region> regions);

}  // namespace stitch::plan
