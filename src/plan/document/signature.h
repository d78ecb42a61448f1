// The kind of a region, independent of the model: ops, types and attributes in order, sizes rounded down to
// powers of two. Regions with the same signature are expected to run best with the same techniques.
#pragma once

#include <string>

#include "plan/plan.h"

namespace stitch::plan {

// "conv relu #1f0c22ab93d4": the ops, and a hash of everything.
std::string signature_of(const Graph& graph, const Region& region);

}  // namespace stitch::plan
