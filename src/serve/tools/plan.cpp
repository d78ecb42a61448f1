// plan: the built-in Planner's plan, or a check of the client's plan.
#include <nlohmann/json.hpp>

#include "agents/package_task.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/write_program.h"
#include "plan/steps.h"
#include "serve/tools/workshop.h"

namespace stitch::serve {

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
