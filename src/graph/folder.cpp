#include "graph/folder.h"

#include "graph/text.h"

namespace stitch {

Result<Graph> load_graph(const fs::path& folder_or_file) {
  std::error_code ec;
  fs::path path = folder_or_file;
  if (fs::is_directory(path, ec)) {
    path /= graph_file;
    if (!fs::exists(path, ec))
      return at(
          folder_or_file.string(),
          user_error("no_graph", format("this folder holds no {}, so it is no graph folder", graph_file),
                     "make one: stitchcuda import model.py -o FOLDER"));
  }
  STITCH_TRY(std::string text, read_file(path));
  auto graph = parse_graph(text);
  if (graph) return graph;
  return within(path.string(), std::move(graph).error());
}

Result<Safetensors> load_weights(const fs::path& file, const Graph& graph) {
  STITCH_TRY(Safetensors weights, Safetensors::open(file));
  for (const Value& value : graph.values) {
    if (!value.has_data()) continue;
    const TensorBytes* tensor = weights.find(value.data);
    auto wrong = [&](std::string message) {
      return at(file.string(), user_error("weights", std::move(message), "import the model again"));
    };
    if (!tensor)
      return wrong(format("no tensor '{}' for the {} %{}", value.data, name(value.role), value.name));
    if (tensor->type != value.type)
      return wrong(
          format("'{}' is {}, but the graph says {}", value.data, text(tensor->type), text(value.type)));
  }
  return weights;
}

Result<GraphFolder> load_graph_folder(const fs::path& folder) {
  STITCH_TRY(Graph graph, load_graph(folder));
  GraphFolder out{std::move(graph), std::nullopt, nullptr};
  STITCH_TRY(out.task, read_task_facts(folder));
  std::error_code ec;
  fs::path path = folder / weights_file;
  if (!fs::exists(path, ec)) return out;
  STITCH_TRY(out.weights, load_weights(path, out.graph));
  return out;
}

}  // namespace stitch
