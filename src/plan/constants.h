// Values that are the same in every run: weights that no forward pass updates, and what depends on them
// alone.
#pragma once

#include <set>

#include "graph/graph.h"

namespace stitch::plan {

std::set<ValueId> constant_values(const Graph& graph);
bool is_constant(const Graph& graph, ValueId value);

}  // namespace stitch::plan
