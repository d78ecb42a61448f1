// What kind of region it is, whatever model it is in: ops, types and attributes in their order, sizes to the
// nearest power of two below. Two regions of a signature are expected to like the same techniques.
#pragma once

#include <string>

#include "plan/plan.h"

namespace stitch::plan {

// "conv relu #1f0c22ab93d4": the ops for people, the sum of everything for machines.
std::string signature_of(const Graph& graph, const Region& region);

}  // namespace stitch::plan
