// Which nodes are expressions of single elements, and how far reductions go inside of them.
#pragma once

#include "graph/graph.h"
#include "plan/plan.h"

namespace stitch::code::loops {

// A reduction of more elements is not done by one thread inside a loop.
inline constexpr int64_t most_inlined = 16;

// Is the node an expression of single elements of its operands? Reductions, scans, sorts and scatters aren't.
bool is_expression(const Graph& graph, int32_t node);

// Reductions of few elements inside of each other: each makes the one inside anew for every element of its
// own, and a chain of them (Sinkhorn's rows and columns in turns) takes a power of that. Refuses those of too
// many steps altogether.
Result<void> accepts_nesting(const Graph& graph, const plan::Region& region);

}  // namespace stitch::code::loops
