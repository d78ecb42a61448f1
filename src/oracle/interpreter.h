// The float64 interpreter: what a graph means.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "oracle/tensor.h"

namespace stitch::oracle {

// Values that are there before the run: leaves, or intermediates to start from.
using Known = std::map<ValueId, Tensor>;
// Called with the index of each node before it runs.
using Progress = std::function<void(size_t node)>;

// One node on the operands it is given; absent optional ones are null. Errors say where.
Result<std::vector<Tensor>> evaluate_node(const Graph& graph, const Node& node,
                                          std::span<const Tensor* const> operands);

// The wanted values, in their order, by running only the nodes that lead from known values to them.
// A known value is never computed again, though a node makes it. `known` is taken over: each tensor is
// freed after its last use, unless the caller holds it too.
Result<std::vector<Tensor>> evaluate(const Graph& graph, Known known, std::span<const ValueId> wanted,
                                     const Progress& progress = {});

// Those of the known values that computing the wanted ones reads.
Known leaves_of(const Graph& graph, const Known& known, std::span<const ValueId> wanted);

}  // namespace stitch::oracle
