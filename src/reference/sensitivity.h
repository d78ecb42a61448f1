// How much rounding is worth: a relative change of each operand within a class's rounding, and what it does.
#pragma once

#include "graph/graph.h"
#include "oracle/interpreter.h"
#include "oracle/tensor.h"
#include "reference/numerics.h"

namespace stitch::verifier {

// The relative rounding that a node's operands may suffer in a class: 2^-11 where tensor cores may be used
// with 10 mantissa bits (convolutions and recurrences in `default`, products too in `tf32`), else 2^-22.
double rounding_of(const Graph& graph, const Node& node, Numerics numerics);
// The coarsest rounding among the nodes of [first, last).
double coarsest_rounding(const Graph& graph, size_t first, size_t last, Numerics numerics);

// x (1 + unit u) with u uniform in [-1, 1], drawn from the seed. Integers stay.
oracle::Tensor perturbed(const oracle::Tensor& tensor, double unit, uint64_t seed);

// ‖a - b‖ / ‖b‖ over the finite elements; 0 if both vanish.
double relative_change(const oracle::Tensor& a, const oracle::Tensor& b);

// What these nodes make of `known` when each value between them is rounded to FP32, too: behind a sum that
// cancels, such as a bias before a batch norm, that is worth more than the rounding of what they read.
Result<std::vector<oracle::Tensor>> rounded_between(const Graph& graph, const std::vector<std::string>& nodes,
                                                    oracle::Known known, const std::vector<ValueId>& writes);

// What an honest program may give: operands and the result of every node rounded as the class rounds them.
Result<std::vector<oracle::Tensor>> rounded_everywhere(const Graph& graph, oracle::Known known,
                                                       std::span<const ValueId> wanted, Numerics numerics,
                                                       uint64_t seed);

}  // namespace stitch::verifier
