// A step is a difference of two plans over named regions: it can be taken for some of them and dropped for
// others.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "plan/technique.h"

namespace stitch::plan {

// The least that can be taken or dropped by itself: regions over the same nodes, and whoever reads or writes
// a value that they store in another way.
struct Change {
  std::vector<std::string> before, after;  // regions by name, in order
  std::set<int32_t> nodes;                 // all that they cover
};

// In the order of their first nodes.
std::vector<Change> difference(const Graph& graph, const Plan& before, const Plan& after);

// `before` with these changes towards `after`, in an order that runs. Branches side by side are the whole
// plan's: they stay only if every change is taken.
Result<Plan> take_changes(const Graph& graph, const Plan& before, const Plan& after,
                          const std::vector<Change>& taken);

// Regions in an order that runs, as near to their own as that can be. An error names one that waits for
// itself.
Result<std::vector<Region>> in_running_order(const Graph& graph, std::vector<Region> regions);

}  // namespace stitch::plan
