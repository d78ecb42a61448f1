// Inputs without PyTorch: drawn from a seed by the graph's types alone.
#pragma once

#include <optional>
#include <span>

#include "graph/graph.h"
#include "reference/trial.h"

namespace stitch::verifier {

// KernelBench's tasks draw from U(0, 1): so does "task" here.
std::vector<std::string> drawn_distributions();
// A seed modulo this says in which part of a sequence a prefix ends, which input is the large one, and
// where the means are large (distributions.py has the same).
inline constexpr uint64_t parts = 4;
// One input of the graph. Integers stay below what the graph indexes with them.
std::vector<std::byte> draw_input(const Graph& graph, ValueId input, std::string_view distribution,
                                  uint64_t seed);

// The smallest dimension of anything that an input of integers may index, through views and pointwise ops;
// none: it indexes nothing. `unguarded`: but for what chooses or bounds it first.
std::optional<int64_t> index_bound(const Graph& graph, ValueId input, bool unguarded = false);

// The largest of a row, by far, is its last, one of the tail that vectors and warps leave over, or its first.
// Of tensors with more than two dimensions every second sample has that along its second one instead.
void plant_ends(uint64_t seed, const Shape& shape, std::span<double> values);

}  // namespace stitch::verifier
