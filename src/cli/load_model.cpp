#include "cli/load_model.h"

#include "base/file.h"
#include "base/progress.h"
#include "graph/folder.h"
#include "import/import.h"

namespace stitch {

Result<Loaded> load_model(const std::string& path, const LoadOptions& options, Console& console) {
  std::error_code ec;
  if (!fs::exists(path, ec))
    return at(path, user_error("no_file", "no such file or folder",
                               "name a .py task, a graph folder, or a graph.txt"));
  if (fs::path(path).extension() == ".py") {
    Progress progress(console.err, console.err_terminal, console.json, "importing");
    STITCH_TRY(Exporter exporter, Exporter::start(options.python));
    ImportRequest request{
        .task = path, .class_name = options.model_class, .mode = options.mode, .weights = false};
    STITCH_TRY(Imported imported, import_graph(exporter, std::move(request),
                                               [&](std::string_view text) { progress.detail(text); }));
    return Loaded{std::move(imported.graph), path, std::move(imported.task)};
  }
  if (!options.model_class.empty())
    return at(path, user_error("flags", "--class is for .py files; this graph is imported already",
                               "leave it out, or name the .py file"));
  const bool whole = fs::is_directory(path, ec);
  STITCH_TRY(TaskFacts facts, whole ? read_task_facts(path) : TaskFacts());
  if (auto same = check_mode(options.mode, facts, "this graph"); !same) return at(path, same.error());
  if (whole) {
    STITCH_TRY(GraphFolder folder, load_graph_folder(path));
    return Loaded{std::move(folder.graph), path, std::move(folder.task)};
  }
  STITCH_TRY(Graph graph, load_graph(path));
  return Loaded{std::move(graph), path, nullptr};
}

}  // namespace stitch
