// The plan every program starts from: a region a node, always right.
#pragma once

#include <functional>

#include "plan/plan.h"

namespace stitch::plan {

// Which technique writes a region as it is; an error says why none does. The Coder knows.
using Classify = std::function<Result<std::string>(const Graph& graph, const Region& region)>;

Result<Plan> plain_plan(const Graph& graph, std::string numerics, const Classify& classify);

// A C-like name for a region from the model's modules: "layer1_0_conv1_relu", "layer1_0_add". Not unique: the
// Coder tells equal ones apart.
std::string region_name(const Graph& graph, const std::vector<int32_t>& nodes);

}  // namespace stitch::plan
