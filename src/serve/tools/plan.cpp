// plan: the built-in Planner's plan, or a check of the client's plan.
#include <nlohmann/json.hpp>

#include "agents/optimize.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/limits.h"
#include "code/write_program.h"
#include "graph/cost.h"
#include "graph/text.h"
#include "plan/steps.h"
#include "program/manifest.h"
#include "serve/tools/workshop.h"

namespace stitch::serve {

// import: a model becomes a graph, summed up; with `out`, a graph folder on disk.

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

namespace {

Result<Answer> run_plan(const Workshop& workshop, const Json& arguments, Call& call) {
  STITCH_TRY(const GpuSpec gpu, gpu_of(arguments));
  STITCH_TRY(const auto task, open_model(workshop, arguments, false, call));
  call.progress("planning");
  STITCH_TRY(const plan::GivenPlan made, plan_of(workshop, arguments, task->graph, gpu));
  const bool given = arguments.contains("plan") || arguments.contains("plan_file");
  if (given) STITCH_CHECK(code::write_program(made.context, made.plan));  // can every region be written?
  Json document = plan::to_json(made.context, made.plan);
  const std::string whole = dump(document),
                    uri = call.keep("plan", task->graph.name + " for " + gpu.name, whole);
  Json regions = Json::array();
  for (const plan::Region& region : made.plan.regions)
    regions.push_back(
        {{"name", region.name}, {"technique", region.technique->name()}, {"nodes", region.nodes.size()}});
  Json structured = {{"gpu", gpu.name}, {"given", given}, {"regions", std::move(regions)}, {"document", uri}};
  constexpr size_t most_inline = 48 << 10;
  if (whole.size() <= most_inline) structured["plan"] = std::move(document);
  return Answer{plan::text(made.context, made.plan, Terminal{}) + "The plan: " + uri + "\n",
                std::make_shared<const Json>(std::move(structured)),
                {uri}};
}

}  // namespace

Tool plan_tool(Shared workshop) {
  return {
      .name = "plan",
      .title = "Plan a program",
      .description =
          "Plan a CUDA program for a model: regions (what is fused), techniques, predicted times and "
          "steps, for a GPU and a numerics class. With 'plan' or 'plan_file' the given plan is checked "
          "instead, and errors say what to fix.",
      .schema = schema_of({model_argument(),
                           numerics_argument(),
                           gpu_argument(),
                           plan_argument(),
                           {"plan_file", Kind::text, "a file with a plan document"},
                           mode_argument(),
                           class_argument()}),
      .runs_code = true,
      .output = output_schema({{"gpu", Kind::text, "planned for"},
                               {"given", Kind::flag, "whether the plan was given"},
                               {"regions", Kind::list, "name, technique and number of nodes of each"},
                               {"document", Kind::text, "URI of the plan document"},
                               {"plan", Kind::object, "the plan document, if it is short"}}),
      .run = [workshop](const Json& arguments, Call& call) { return run_plan(*workshop, arguments, call); }};
}

// code: the program of a plan as a folder, not verified yet.

namespace {

Result<Answer> run_code(const Workshop& workshop, const Json& arguments, Call& call) {
  STITCH_TRY(const fs::path out, workshop.roots.resolve("out", text(arguments, "out")));
  const Overwrite overwrite = flag(arguments, "overwrite") ? Overwrite::force : Overwrite::refuse;
  STITCH_CHECK(OutputFolder::check(out, overwrite));
  STITCH_TRY(const GpuSpec gpu, gpu_of(arguments));
  STITCH_TRY(const auto task, open_model(workshop, arguments, true, call));
  call.progress("writing the program");
  STITCH_TRY(plan::GivenPlan made, plan_of(workshop, arguments, task->graph, gpu));
  if (flag(arguments, "plain")) {
    STITCH_TRY(made.plan, plan::first_plan(made.context, code::catalogue()));
  }
  STITCH_TRY(PackageContents contents, code::write_program(made.context, made.plan));
  STITCH_CHECK(agents::add_task(contents, *task));
  STITCH_TRY(const Published published, write_package(out, contents, overwrite));
  Json regions = Json::array();
  std::string said = format("{}: {} regions\n", published.folder.string(), contents.manifest.regions.size());
  for (const ManifestRegion& region : contents.manifest.regions) {
    regions.push_back({{"name", region.name}, {"file", region.file}, {"technique", region.technique}});
    said += format("  {}  {}  {}\n", region.name, region.file, region.technique);
  }
  return Answer{
      said,
      std::make_shared<const Json>(
          Json{{"program", published.folder.string()}, {"gpu", gpu.name}, {"regions", std::move(regions)}}),
      {}};
}

}  // namespace

Tool code_tool(Shared workshop) {
  return {
      .name = "code",
      .title = "Write a program",
      .description =
          "Write the CUDA program of a plan (the built-in Planner's, or a given one) into a folder: "
          "program.cu, one file a region, manifest. It is not verified: use verify. The files of its "
          "regions are what write_region replaces.",
      .schema = schema_of({model_argument(),
                           {"out", Kind::text, "the program's folder", true},
                           numerics_argument(),
                           gpu_argument(),
                           plan_argument(),
                           {"plan_file", Kind::text, "a file with a plan document"},
                           {"plain", Kind::flag, "one simple kernel per node, no libraries (default: false)"},
                           mode_argument(),
                           class_argument(),
                           overwrite_argument()}),
      .writes_files = true,
      .runs_code = true,
      .output = output_schema({{"program", Kind::text, "the folder"},
                               {"gpu", Kind::text, "written for"},
                               {"regions", Kind::list, "name, file and technique of each"}}),
      .run = [workshop](const Json& arguments, Call& call) { return run_code(*workshop, arguments, call); }};
}

}  // namespace stitch::serve
