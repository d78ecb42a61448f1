#include "import/import.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "graph/folder.h"
#include "graph/text.h"
#include "import/active.h"
#include "import/aten_program.h"
#include "import/lowering.h"
#include "import/result_names.h"
#include "passes/pipeline.h"

namespace stitch {

namespace {

// aten.json in the request's folder becomes a graph.
Result<Imported> convert(const ImportRequest& request, const OnProgress& on_progress) {
  fs::path aten_path = request.out / "aten.json";
  STITCH_TRY(std::string text, read_file(aten_path));
  STITCH_TRY(AtenProgram program, read_aten(text));
  if (on_progress) on_progress("lowering to the graph");
  STITCH_TRY(Graph graph, lower(program));
  size_t before = graph.nodes.size();
  PassReport report =
      run_pipeline(graph, cleanup_pipeline(),
                   {.skip = request.algebra ? PassNames{} : algebraic_passes(), .limits = request.limits});
  Json facts = *program.task;
  name_results(graph, facts.value("call", Json::object()).value("outputs", Json()));
  facts["active"] = count_active(program);
  facts["nodes"] = {{"aten", program.nodes.size()}, {"lowered", before}, {"cleaned", graph.nodes.size()}};
  return Imported{.graph = std::move(graph),
                  .facts = std::make_shared<const Json>(std::move(facts)),
                  .aten_nodes = program.nodes.size()};
}

Result<void> export_into(Exporter& exporter, const ImportRequest& request, const OnProgress& on_progress) {
  std::error_code ec;
  if (!fs::exists(request.task, ec))
    return at(request.task.string(), user_error("file", "there is no such file"));
  return exporter.run(
      {request.task, request.out, request.class_name, request.mode, request.seed, request.weights},
      on_progress);
}

}  // namespace

Result<Imported> import_into(Exporter& exporter, const ImportRequest& request,
                             const OnProgress& on_progress) {
  auto begin = std::chrono::steady_clock::now();
  STITCH_CHECK(export_into(exporter, request, on_progress));
  STITCH_TRY(Imported imported, convert(request, on_progress));
  std::error_code ec;
  fs::remove(request.out / "aten.json", ec);
  imported.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return imported;
}

Result<Imported> import_exported(const ImportRequest& request) { return convert(request, {}); }

Result<Imported> import_task(Exporter& exporter, const ImportRequest& request,
                             const OnProgress& on_progress) {
  STITCH_TRY(OutputFolder draft, OutputFolder::create(request.out, request.overwrite));
  ImportRequest into_draft = request;
  into_draft.out = draft.path();
  STITCH_TRY(Imported imported, import_into(exporter, into_draft, on_progress));
  STITCH_CHECK(write_file(draft.path() / graph_file, print_graph(imported.graph)));
  STITCH_CHECK(write_file(draft.path() / task_file, document_text(*imported.facts)));
  STITCH_TRY(imported.published, draft.publish());
  return imported;
}

}  // namespace stitch
