// Inputs without PyTorch: drawn from a seed by the graph's types alone.
#pragma once

#include "graph/graph.h"
#include "verify/trial.h"

namespace stitch::verifier {

// KernelBench's tasks draw from U(0, 1): so does "task" here.
std::vector<std::string> drawn_distributions();
// One input of the graph. Integers stay below what the graph indexes with them.
std::vector<std::byte> draw_input(const Graph& graph, ValueId input, std::string_view distribution,
                                  uint64_t seed);

}  // namespace stitch::verifier
