#include "import/import.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "graph/folder.h"
#include "graph/text.h"
#include "import/active.h"
#include "import/aten_program.h"
#include "import/lowering.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

struct Converted {
  Graph graph;
  TaskFacts task;
  size_t aten_nodes;
};

// draft/aten.json becomes draft/graph.txt and draft/task.json.
Result<Converted> convert(const fs::path& draft, const OnProgress& on_progress) {
  fs::path aten_path = draft / "aten.json";
  STITCH_TRY(std::string text, read_file(aten_path));
  STITCH_TRY(AtenProgram program, read_aten(text));
  if (on_progress) on_progress("lowering to the graph");
  STITCH_TRY(Graph graph, lower(program));
  size_t before = graph.nodes.size();
  PassReport report = run_pipeline(graph, cleanup_pipeline());
  Json task = *program.task;
  task["active"] = count_active(program);
  task["nodes"] = {{"aten", program.nodes.size()}, {"lowered", before}, {"cleaned", graph.nodes.size()}};
  STITCH_CHECK(write_file(draft / graph_file, print_graph(graph)));
  STITCH_CHECK(
      write_file(draft / task_file, task.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
  std::error_code ec;
  fs::remove(aten_path, ec);
  return Converted{std::move(graph), std::make_shared<const Json>(std::move(task)), program.nodes.size()};
}

Result<void> export_into(Exporter& exporter, const ImportRequest& request, const fs::path& folder,
                         const OnProgress& on_progress) {
  std::error_code ec;
  if (!fs::exists(request.task, ec))
    return at(request.task.string(), user_error("file", "there is no such file"));
  return exporter.run({request.task, folder, request.class_name, request.mode, request.seed, request.weights},
                      on_progress);
}

}  // namespace

Result<Imported> import_task(Exporter& exporter, const ImportRequest& request,
                             const OnProgress& on_progress) {
  auto begin = std::chrono::steady_clock::now();
  STITCH_TRY(OutputFolder draft, OutputFolder::create(request.out, request.overwrite));
  STITCH_CHECK(export_into(exporter, request, draft.path(), on_progress));
  STITCH_TRY(Converted converted, convert(draft.path(), on_progress));
  STITCH_TRY(Published published, draft.publish());
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return Imported{std::move(converted.graph), std::move(converted.task), converted.aten_nodes, took.count(),
                  std::move(published)};
}

Result<Imported> import_graph(Exporter& exporter, ImportRequest request, const OnProgress& on_progress) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitchcuda"));
  request.weights = false;
  STITCH_CHECK(export_into(exporter, request, scratch.path(), on_progress));
  STITCH_TRY(Converted converted, convert(scratch.path(), on_progress));
  return Imported{std::move(converted.graph), std::move(converted.task), converted.aten_nodes, 0};
}

}  // namespace stitch
