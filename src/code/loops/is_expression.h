// Which nodes are expressions of single elements.
#pragma once

#include "graph/graph.h"

namespace stitch::code::loops {

// A reduction of more elements is not done by one thread inside a loop.
inline constexpr int64_t most_inlined = 16;

// Is the node an expression of single elements of its operands? Reductions, scans, sorts and scatters aren't.
bool is_expression(const Graph& graph, int32_t node);

}  // namespace stitch::code::loops
