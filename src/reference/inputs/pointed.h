// Weights under which more of a model counts than under any that are drawn alike: recurrences that remember
// their first step, and a softmax behind a layer whose largest, by far, is the last.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "graph/graph.h"
#include "oracle/tensor.h"

namespace stitch::verifier {

// To redrawn weights, along the first dimension from `begin` to `end`.
struct WeightChange {
  std::string data;  // the tensor, as the model calls it
  int64_t begin = 0, end = 0;
  double scale = 1, add = 0;
  double diagonal = 0;  // added where both indices of a matrix are equal
};

// Empty where nothing in the graph asks for them.
std::vector<WeightChange> pointed_weights(const Graph& graph);
// Where both forms of GELU differ by a fifth of what they give, far more than halves round.
inline constexpr double tail_of_gelu = -3.5;
// Layers before a GELU that give nothing but its tail, and next ones that make it count.
std::vector<WeightChange> tail_weights(const Graph& graph);
Json to_json(const std::vector<WeightChange>& changes);
void change(oracle::Tensor& tensor, const WeightChange& change);

}  // namespace stitch::verifier
