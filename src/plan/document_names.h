// What writing and reading a plan document have in common.
#pragma once

#include <string>

#include "graph/graph.h"

namespace stitch::plan {

inline constexpr int plan_version = 2;
// A node goes by its first result.
const std::string& node_name(const Graph& graph, int32_t node);
std::string graph_hash(const Graph& graph);

}  // namespace stitch::plan
