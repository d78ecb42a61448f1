// What a wrong program could get wrong, read off the graph: each node left out or replaced by a neighbour,
// each constant moved, each input and weight frozen or ignored.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "oracle/tensor.h"

namespace stitch::verifier {

// A node with what it read and made in one run of the graph.
struct Evaluated {
  const Graph& graph;
  const Node& node;
  std::span<const oracle::Tensor* const> operands;
  std::span<const oracle::Tensor> results;
};
using Instead = std::function<Result<std::vector<oracle::Tensor>>(const Evaluated&)>;

enum class LeafChange : uint8_t {
  none,
  frozen,    // what it was in the first trial
  zeros,     // as if it were left out
  mean,      // one number everywhere
  identity,  // of square matrices
  ones,      // of booleans
  first,     // each sample as the first one
};

struct GraphMutant {
  int32_t node = -1;             // that is computed otherwise
  ValueId leaf = ValueId::none;  // or that is another tensor
  LeafChange change = LeafChange::none;
  Instead instead;           // the node's results
  std::string where, what;   // "gelu 'y'", "by its tanh form"
  int taken = 0;             // of a where: the operand that stands for it
  bool last_resort = false;  // asked where no other mutant of its node made a difference
};

// In the order of the graph: the leaves, then node by node.
std::vector<GraphMutant> mutants_of(const Graph& graph);

oracle::Tensor filled(const oracle::Tensor& like, double value);
// Whose last index along an axis is that number.
oracle::Tensor with_last(const oracle::Tensor& tensor, size_t axis, double value);

}  // namespace stitch::verifier
