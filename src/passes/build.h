// For passes that put new nodes in the place of old ones.
#pragma once

#include <map>

#include "graph/graph.h"

namespace stitch {

// Appends nodes in the name of one that is there.
class Builder {
 public:
  Builder(Graph& graph, Node model) : graph_(graph), model_(std::move(model)) {}
  ValueId add(Op op, std::vector<ValueId> operands, const Attributes& attributes, std::string_view name);
  // [start, end) along `dim`; everything is no slice.
  ValueId slice(ValueId of, int64_t dim, int64_t start, int64_t end, std::string_view name);

 private:
  Graph& graph_;
  Node model_;
};

// Uses of the first become uses of the second, nodes get an order in which they can run, and what nobody uses
// any more goes.
void replace_uses(Graph& graph, const std::map<ValueId, ValueId>& replacement);

}  // namespace stitch
