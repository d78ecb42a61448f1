// Which nodes are expressions of single elements, and how far reductions may nest inside them.
#pragma once

#include "graph/graph.h"
#include "plan/plan.h"

namespace stitch::code::loops {

// Longer reductions are not computed by one thread in a loop.
inline constexpr int64_t most_inlined = 16;

// Whether the node is an expression of single elements of its operands, i.e. not a reduction, scan, sort or
// scatter.
bool is_expression(const Graph& graph, int32_t node);

// Nested short reductions recompute the inner one for every element of the outer one, and a chain of them
// (Sinkhorn's alternating rows and columns) grows exponentially. Refuses too many operations in total.
Result<void> accepts_nesting(const Graph& graph, const plan::Region& region);

}  // namespace stitch::code::loops
