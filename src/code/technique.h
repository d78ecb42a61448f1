// Which technique writes a region as it stands.
#pragma once

#include <string>

#include "plan/fusion.h"

namespace stitch::code {

// The simplest one that can, for the plain program; an error says why none does.
Result<std::string> plain_technique(const Graph& graph, const plan::Region& region);

// What the Planner may ask.
plan::Techniques techniques();

}  // namespace stitch::code
