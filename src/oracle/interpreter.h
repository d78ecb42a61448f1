// The float64 interpreter: the definition of a graph.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "oracle/tensor.h"

namespace stitch::oracle {

// Values given before the run: leaves, or intermediates to start from.
using Known = std::map<ValueId, Tensor>;
// Called with the index of each node before it runs.
using Progress = std::function<void(size_t node)>;

// One node on the given operands; absent optional ones are null. Errors name the node.
Result<std::vector<Tensor>> evaluate_node(const Graph& graph, const Node& node,
                                          std::span<const Tensor* const> operands);

// The wanted values, by running only the nodes between known values and them. A known value is never
// recomputed. `known` is consumed: each tensor is freed after its last use, unless the caller holds a copy.
Result<std::vector<Tensor>> evaluate(const Graph& graph, Known known, std::span<const ValueId> wanted,
                                     const Progress& progress = {});

// The known values that computing the wanted ones reads.
Known leaves_of(const Graph& graph, const Known& known, std::span<const ValueId> wanted);

}  // namespace stitch::oracle
