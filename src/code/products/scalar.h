// Pointwise nodes as C expressions on one element, for epilogues.
#pragma once

#include <span>
#include <string>

#include "graph/graph.h"

namespace stitch::code {

bool is_scalar(const Node& node);
// A C literal of a number.
std::string literal_text(double value, std::string_view number);
// `number` is the C type of the arithmetic: float, double or int64_t.
std::string scalar_text(const Node& node, std::span<const std::string> operands, std::string_view number);

}  // namespace stitch::code
