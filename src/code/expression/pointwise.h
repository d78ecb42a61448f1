// Every pointwise op of the graph as an expression of one element: the table used by loops and by the
// epilogues of products.
#pragma once

#include "code/expression/expression.h"
#include "graph/graph.h"

namespace stitch::code {

// `operands`: one element each, in the computed types of the node's operands. The result has that of the
// node's result.
Expression pointwise(const Graph& graph, const Node& node, const Expressions& operands);
// A cast.
Expression converted(const Expression& x, DType from, DType to);
// expf for float, exp for double.
Expression standard_call(const char* function, DType dtype, Expressions arguments);
// Whether the op is in the table.
bool is_pointwise(Op op);

}  // namespace stitch::code
