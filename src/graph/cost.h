// Cost of a graph, independent of how it is run.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace stitch {

struct GraphCost {
  std::vector<Cost> nodes;  // each node alone, in the graph's order
  Cost total;               // their sum: its bytes are the traffic if every op ran alone

  // Bytes that any program must move: every input, parameter and buffer read, every output and update
  // written, once each. Of a table that is only indexed or sliced, the part that is read.
  double boundary_bytes = 0;

  int64_t parameters = 0;  // elements of the parameters; tied ones count once
  int64_t leaf_bytes = 0;  // inputs, parameters, buffers, constants; tied ones once
  // Nodes in order, each result allocated when computed and freed after its last use. Views share their
  // operand's memory; leaves, outputs and updates stay.
  int64_t peak_bytes = 0;
};

GraphCost cost(const Graph& graph);

}  // namespace stitch
