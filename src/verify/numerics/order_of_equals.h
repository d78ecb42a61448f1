// Which of equal elements comes first after a sort or a top-k is unspecified: PyTorch's own choice
// differs from device to device and from size to size. Any order of them is right, as long as none is named
// twice.
#pragma once

#include "graph/graph.h"
#include "oracle/tensor.h"
#include "reference/numerics.h"

namespace stitch::verifier {

// The node whose positions this output is, or some of them in another shape or order; null: it is none's.
const Node* ordering_of(const Graph& graph, ValueId output);
// A sort that isn't stable, top-k.
bool leaves_equals_in_any_order(const Node& node);
// Whether anything is made of the positions that it gives, so that the order of equals shows there.
bool makes_use_of_positions(const Graph& graph);

// What was put in order, along `dim`; the shape of all positions, and where among them each of an output's
// was.
struct Ordering {
  oracle::Tensor ordered;
  int64_t dim = 0;
  Shape shape;
  std::vector<int64_t> places;
};
// The truth, with rows of `positions` in its place that name other elements of the same size. `count`: how
// many positions are others.
std::vector<std::byte> truth_among_equals(const TensorBytes& positions, const TensorBytes& truth,
                                          const Ordering& ordering, int64_t& count);

}  // namespace stitch::verifier
