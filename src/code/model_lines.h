// Which lines of the user's model a region computes.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/plan.h"

namespace stitch::code {

// "resnet18.py:83: x = self.conv1(x)", each line once, in the order of the region's nodes. Empty if the graph
// has no source lines.
std::vector<std::string> model_lines(const Graph& graph, const plan::Region& region);

// The first of them, and how many more there are; empty: none.
std::string model_line(const Graph& graph, const plan::Region& region);

// The computation by modules: "layer1.0.conv1, layer1.0.relu (conv, relu)".
std::string model_words(const Graph& graph, const plan::Region& region);

}  // namespace stitch::code
