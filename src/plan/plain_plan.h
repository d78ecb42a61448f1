// The plan every program starts from: a region a node, always right.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

Result<Plan> plain_plan(const Context& context, const Catalogue& catalogue);

// A C-like name for a region from its nodes: "layer1_conv1_conv2d".
std::string region_name(const Graph& graph, const std::vector<int32_t>& nodes);

}  // namespace stitch::plan
