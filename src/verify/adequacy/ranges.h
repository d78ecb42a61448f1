// What a value can be at all, whatever the inputs are: a ReLU gives nothing below zero.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "graph/graph.h"

namespace stitch::verifier {

struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();

  bool within(double least, double most) const { return low >= least && high <= most; }
  // Whether a formula leaves every number in it as it is, by a grid of them.
  bool is_fixed_by(const std::function<double(double)>& formula) const;
};

// Of each value of floats, by index.
std::vector<Range> ranges_of(const Graph& graph);

}  // namespace stitch::verifier
