// Shared by the writer and the reader of plan documents.
#pragma once

#include <string>

#include "graph/graph.h"

namespace stitch::plan {

inline constexpr int plan_version = 2;
// A node is named after its first result.
const std::string& node_name(const Graph& graph, int32_t node);
std::string graph_hash(const Graph& graph);

}  // namespace stitch::plan
