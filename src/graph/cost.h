// What a whole graph costs, before anybody decides how to run it.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace stitch {

struct GraphCost {
  std::vector<Cost> nodes;  // each node alone, in the graph's order
  Cost total;               // their sum: its bytes are the traffic if every op ran alone

  // What any program must move: every input, parameter and buffer that is read, every output and update
  // that is written, each once. Of a table that is only looked up or sliced, the part that is read.
  double boundary_bytes = 0;

  int64_t parameters = 0;  // elements of the parameters; tied ones count once
  int64_t leaf_bytes = 0;  // inputs, parameters, buffers, constants; tied ones once
  // Nodes in order, each result allocated when it is computed and freed after its last use. Views share
  // their operand's memory; leaves stay, and so do outputs and updates.
  int64_t peak_bytes = 0;
};

GraphCost cost(const Graph& graph);

}  // namespace stitch
