// Tensors in which whole rows, columns and samples are faint or nothing at all: where an epsilon counts.
#pragma once

#include "graph/graph.h"
#include "oracle/tensor.h"

namespace stitch::verifier {

// Whether some of these nodes divides or takes a root or a logarithm, so that values near zero count.
bool has_epsilon(const Graph& graph, const std::vector<std::string>& nodes);
// Whether some of them multiplies matrices: honest ones do that in halves, which end at 6e-8.
bool has_product(const Graph& graph, const std::vector<std::string>& nodes);

struct Fading {
  double faintest = 1;  // of an element, relative
  bool zeros = false;   // some indices along each dimension are all zeros
  uint64_t seed = 0;
};
oracle::Tensor faded(const oracle::Tensor& tensor, const Fading& fading);

}  // namespace stitch::verifier
