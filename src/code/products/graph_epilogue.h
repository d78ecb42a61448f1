// The epilogue of a convolution as steps of cuDNN's operation graphs (runtime/cudnn_graph.h).
#pragma once

#include "code/products/convolution/convolution.h"

namespace stitch::code {

struct GraphEpilogue {
  std::vector<std::string> steps;     // initialisers of stitch::FusedStep
  std::vector<std::string> operands;  // initialisers of stitch::FusedOperand
  std::vector<const Place*> places;   // of the operands, in their order
};

// Whether graphs support these operations and shapes; storage isn't known yet.
bool has_graph_epilogue(const Graph& graph, const plan::Region& region, const Parts& parts);
// Empty: something isn't stored as a graph needs it.
std::optional<GraphEpilogue> graph_epilogue_of(const RegionRequest& request, const Parts& parts,
                                               const Convolution& convolution);

}  // namespace stitch::code
