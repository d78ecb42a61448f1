// Every pointwise op of the graph as an expression of one element: the one table that loops and the epilogues
// of products are made from.
#pragma once

#include "code/expression/expression.h"
#include "graph/graph.h"

namespace stitch::code {

// `operands`: an element each, of the computed types of the node's operands. The result has that of the
// node's result.
Expression pointwise(const Graph& graph, const Node& node, const Expressions& operands);
// The same number in another dtype.
Expression converted(const Expression& x, DType from, DType to);
// expf for float, exp for double.
Expression standard_call(const char* function, DType dtype, Expressions arguments);
// Is there a row for the op?
bool is_pointwise(Op op);

}  // namespace stitch::code
