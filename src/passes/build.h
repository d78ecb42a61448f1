// For passes that replace nodes by new ones.
#pragma once

#include <map>

#include "graph/graph.h"

namespace stitch {

// Appends nodes that take module and source line from an existing one.
class Builder {
 public:
  Builder(Graph& graph, Node model) : graph_(graph), model_(std::move(model)) {}
  ValueId add(Op op, std::vector<ValueId> operands, const Attributes& attributes, std::string_view name);
  // [start, end) along `dim`; no node for the whole range.
  ValueId slice(ValueId of, int64_t dim, int64_t start, int64_t end, std::string_view name);

 private:
  Graph& graph_;
  Node model_;
};

// Replaces uses of the first by uses of the second, sorts the nodes topologically and removes unused ones.
void replace_uses(Graph& graph, const std::map<ValueId, ValueId>& replacement);

}  // namespace stitch
