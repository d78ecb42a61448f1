// Floor, round, comparisons, argmax: where an operand lies within rounding of a jump, two honest programs
// give different results and both are right. What float64 gives when such operands are moved within the
// class's rounding is as good as the truth itself.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "oracle/interpreter.h"
#include "reference/numerics.h"

namespace stitch::verifier {

// Whether some node jumps, on an operand that was rounded on its way there. Inputs are exact: floor(x) of an
// input has one answer.
bool has_discontinuity(const Graph& graph);
// Whether one of these jumps, on whatever operand.
bool has_discontinuity(const Graph& graph, const std::vector<std::string>& nodes);

// The wanted values several times over: all operands of jumps moved up, all down, then each at random.
// `known`: inputs and parameters.
Result<std::vector<std::vector<oracle::Tensor>>> across_jumps(const Graph& graph, const oracle::Known& known,
                                                              std::span<const ValueId> wanted,
                                                              Numerics numerics, uint64_t seed);

// The truth, with `values` in its place where they lie between alternatives that are more than `tolerance`
// apart; integers, where they are one of them. `count`: how many that are.
std::vector<std::byte> truth_at_jumps(const TensorBytes& values, const TensorBytes& truth,
                                      std::span<const oracle::Tensor> alternatives, double tolerance,
                                      int64_t& count);

}  // namespace stitch::verifier
