// Which of equal elements comes first after a sort or a top-k is unspecified: PyTorch's own choice
// differs from device to device and from size to size. Any order of them is right, as long as none is named
// twice.
#pragma once

#include "graph/graph.h"
#include "oracle/tensor.h"
#include "reference/numerics.h"

namespace stitch::verifier {

// The node whose positions this output is; null: it is none's.
const Node* ordering_of(const Graph& graph, ValueId output);
// A sort that isn't stable, top-k.
bool leaves_equals_in_any_order(const Node& node);

// The truth, with rows of `positions` in its place that name other elements of the same size. `ordered`: what
// was put in order, along `dim`; `count`: how many positions are others.
std::vector<std::byte> truth_among_equals(const TensorBytes& positions, const TensorBytes& truth,
                                          const oracle::Tensor& ordered, int64_t dim, int64_t& count);

}  // namespace stitch::verifier
