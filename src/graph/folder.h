// A graph on disk: graph.txt, weights.safetensors, task.json.
#pragma once

#include <optional>

#include "base/file.h"
#include "base/json.h"
#include "graph/graph.h"
#include "graph/mode.h"
#include "graph/safetensors.h"

namespace stitch {

inline constexpr std::string_view graph_file = "graph.txt";
inline constexpr std::string_view weights_file = "weights.safetensors";
inline constexpr std::string_view task_file = "task.json";

struct GraphFolder {
  Graph graph;
  std::optional<Safetensors> weights;  // absent: imported without
  TaskFacts task;
};

// Reads and checks everything: the graph is valid, and every value with data has it under its key with its
// dtype and shape.
Result<GraphFolder> load_graph_folder(const fs::path& folder);
// A weights file with data for every value that needs it.
Result<Safetensors> load_weights(const fs::path& file, const Graph& graph);
// Only graph.txt, no weights.
Result<Graph> load_graph(const fs::path& folder_or_file);

}  // namespace stitch
