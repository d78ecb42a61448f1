// Tensors in which whole rows, columns and samples are faint or nothing at all, where an epsilon counts; and
// rows whose maximum is first, last or in the tail, which faulty reductions skip.
#pragma once

#include "graph/graph.h"
#include "oracle/tensor.h"

namespace stitch::verifier {

// Whether some of these nodes divides or takes a root or a logarithm, so that values near zero count.
bool has_epsilon(const Graph& graph, const std::vector<std::string>& nodes);
// Whether some of them multiplies matrices: honest ones do that in halves, which end at 6e-8.
bool has_product(const Graph& graph, const std::vector<std::string>& nodes);
bool has_product(const Graph& graph);  // any of its nodes
bool is_product(const Node& node);

// Whether some of them looks for the largest, by itself or before exponentials.
bool has_maximum(const Graph& graph, const std::vector<std::string>& nodes);

struct Fading {
  double faintest = 1;  // of an element, relative
  bool zeros = false;   // some indices along each dimension are all zeros
  uint64_t seed = 0;
};
oracle::Tensor faded(const oracle::Tensor& tensor, const Fading& fading);

enum class Extremes : uint8_t {
  ends,  // the largest of a row, by far, is its last, one of its tail, or its first
  low,   // everything is far below zero
};
oracle::Tensor with_extremes(const oracle::Tensor& tensor, Extremes where, uint64_t seed);

}  // namespace stitch::verifier
