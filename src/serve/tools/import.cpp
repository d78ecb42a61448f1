// import: a model becomes a graph, summed up; with `out`, a graph folder on disk.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "code/limits.h"
#include "graph/cost.h"
#include "graph/text.h"
#include "program/manifest.h"
#include "serve/tools/workshop.h"

namespace stitch::serve {

namespace {

Json tensors(const std::vector<ManifestTensor>& all) {
  Json list = Json::array();
  for (const ManifestTensor& tensor : all)
    list.push_back({{"name", tensor.name}, {"role", tensor.role}, {"type", stitch::text(tensor.type)}});
  return list;
}

Answer summary(const Graph& graph, const TaskFacts& facts, const std::string& folder, Call& call) {
  const GraphCost costs = cost(graph);
  const Signature signature = signature_of(graph);
  const std::string whole = print_graph(graph), uri = call.keep("graph", graph.name, whole);
  Json structured = {{"name", graph.name},
                     {"nodes", graph.nodes.size()},
                     {"parameters", costs.parameters},
                     {"flops", costs.total.flops},
                     {"boundary_bytes", costs.boundary_bytes},
                     {"peak_bytes", costs.peak_bytes},
                     {"inputs", tensors(signature.inputs)},
                     {"outputs", tensors(signature.outputs)},
                     {"graph", uri}};
  if (!folder.empty()) structured["folder"] = folder;
  std::string said = format("{}: {} nodes, {} parameters, {}FLOP, {} moved at least\n", graph.name,
                            graph.nodes.size(), si(static_cast<double>(costs.parameters)),
                            si(costs.total.flops), bytes_text(costs.boundary_bytes));
  if (auto warning = mode_warning(facts)) {
    structured["warnings"] = {*warning};
    said += "warning: " + *warning + "\n";
  }
  constexpr size_t most_inline = 12 << 10;
  said +=
      whole.size() <= most_inline ? "\n" + whole : format("The graph ({} bytes): {}\n", whole.size(), uri);
  return {std::move(said), std::make_shared<const Json>(std::move(structured)), {uri}};
}

Result<Answer> run_import(const Workshop& workshop, const Json& arguments, Call& call) {
  const std::string out = text(arguments, "out");
  if (out.empty()) {
    STITCH_TRY(const auto task, open_model(workshop, arguments, false, call));
    return summary(task->graph, task->facts, {}, call);
  }
  STITCH_TRY(const fs::path model, workshop.roots.resolve("model", text(arguments, "model")));
  STITCH_TRY(const fs::path folder, workshop.roots.resolve("out", out));
  if (!Task::is_python(model))
    return user_error("arguments", "'out' needs a .py file: a graph is already imported");
  STITCH_TRY(const GpuSpec gpu, gpu_of(arguments));
  const TaskOptions how = task_options_of(workshop, arguments);
  call.progress("importing");
  STITCH_TRY(Exporter exporter, Exporter::start(how.python));
  STITCH_TRY(const Imported imported,
             import_task(exporter,
                         {.task = model,
                          .out = folder,
                          .class_name = how.model_class,
                          .mode = how.mode,
                          .limits = code::limits_on(gpu),
                          .overwrite = flag(arguments, "overwrite") ? Overwrite::force : Overwrite::refuse},
                         [&](std::string_view what) { call.progress(what); }));
  return summary(imported.graph, imported.facts, imported.published.folder.string(), call);
}

}  // namespace

Tool import_tool(Shared workshop) {
  return {.name = "import",
          .title = "Import a model",
          .description =
              "Import a PyTorch model (KernelBench's form: Model, get_inputs, get_init_inputs) as a tensor "
              "graph with exact meaning. Returns its inputs, outputs, nodes and costs; with 'out' it also "
              "writes a graph folder that the other tools take instead of the .py file.",
          .schema = schema_of({model_argument(),
                               {"out", Kind::text, "a graph folder to write (default: none)"},
                               mode_argument(),
                               class_argument(),
                               overwrite_argument()}),
          .writes_files = true,
          .runs_code = true,
          .output =
              output_schema({{"name", Kind::text, "of the graph"},
                             {"nodes", Kind::integer, "how many"},
                             {"parameters", Kind::integer, "how many"},
                             {"flops", Kind::number, "of a forward pass"},
                             {"boundary_bytes", Kind::number, "inputs, weights and outputs: moved at least"},
                             {"peak_bytes", Kind::number, "of memory"},
                             {"inputs", Kind::list, "name, role and type of each"},
                             {"outputs", Kind::list, "name, role and type of each"},
                             {"graph", Kind::text, "URI of the graph as text"},
                             {"folder", Kind::text, "the graph folder, if one was written"},
                             {"warnings", Kind::list, "what may not be meant"}}),
          .run = [workshop](const Json& arguments, Call& call) {
            return run_import(*workshop, arguments, call);
          }};
}

}  // namespace stitch::serve
