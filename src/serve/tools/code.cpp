// code: the program of a plan as a folder, not verified yet.
#include <nlohmann/json.hpp>

#include "agents/package_task.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/write_program.h"
#include "plan/steps.h"
#include "serve/tools/tools.h"

namespace stitch::serve {

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
                           {.name = "out", .description = "the program's folder", .required = true},
                           numerics_argument(),
                           gpu_argument(),
                           plan_argument(),
                           {.name = "plan_file", .description = "a file with a plan document"},
                           {.name = "plain",
                            .kind = Kind::flag,
                            .description = "one simple kernel per node, no libraries (default: false)"},
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
