// The plan that every program starts from: one region per node.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

Result<Plan> plain_plan(const Context& context, const Catalogue& catalogue);

// A C-like name for a region from the model's modules: "layer1_0_conv1_relu", "layer1_0_add". Several regions
// of a module may have the same.
std::string region_name(const Graph& graph, const std::vector<int32_t>& nodes);
// Makes names unique (name, name_2, …): documents and reports identify regions by name.
void tell_names_apart(std::vector<Region>& regions);

}  // namespace stitch::plan
