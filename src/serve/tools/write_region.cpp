// write_region: the client's CUDA for one region, verified with the whole program. Either in a plan, as the
// technique 'written' that holds its source, or in a copy of a program's folder.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "agents/package_task.h"
#include "base/output_folder.h"
#include "base/text.h"
#include "code/limits.h"
#include "code/write_program.h"
#include "code/written.h"
#include "plan/cost/estimate.h"
#include "serve/tools/region.h"
#include "serve/tools/workshop.h"
#include "verify/verify.h"

namespace stitch::serve {

namespace {

// Where the program is written before it is judged: beside `out`, or nowhere that lasts.
class Draft {
 public:
  static Result<Draft> create(const Workshop& workshop, const Json& arguments) {
    Draft draft;
    const std::string out = text(arguments, "out");
    if (out.empty()) {
      STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitch-region"));
      draft.scratch_.emplace(std::move(scratch));
      return draft;
    }
    STITCH_TRY(const fs::path target, workshop.roots.resolve("out", out));
    STITCH_TRY(
        OutputFolder folder,
        OutputFolder::create(target, flag(arguments, "overwrite") ? Overwrite::force : Overwrite::refuse));
    draft.folder_.emplace(std::move(folder));
    return draft;
  }
  fs::path path() const { return folder_ ? folder_->path() : scratch_->path() / "program"; }
  // The folder's name if the program stays; empty: it doesn't.
  Result<std::string> keep(bool wanted) {
    if (!folder_ || !wanted) return std::string();
    STITCH_TRY(const Published published, folder_->publish());
    return published.folder.string();
  }

 private:
  std::optional<ScratchFolder> scratch_;
  std::optional<OutputFolder> folder_;
};

Answer with(Answer answer, const Json& more) {
  Json structured = *answer.structured;
  structured.update(more);
  answer.structured = std::make_shared<const Json>(std::move(structured));
  return answer;
}

// Whether it is worth having: on a GPU the verdict's times say so.
struct Speed {
  std::string said;
  Json structured;
};
Speed speed_of(const verifier::Verdict& verdict, std::optional<double> builtin_estimate) {
  if (verdict.timing || !verdict.passed()) return {};
  std::string said =
      "Not timed: nothing here says whether it is faster or slower than the built-in code. A GPU has to "
      "measure both";
  Json structured = {{"compared", false}};
  if (builtin_estimate) {
    said += format(
        "; the cost model estimates {} for the built-in code of this region, and has no estimate for "
        "code that it didn't write",
        seconds_text(*builtin_estimate));
    structured["builtin_estimated_seconds"] = *builtin_estimate;
  }
  return {said + ".\n", std::move(structured)};
}

Result<Answer> in_a_copy(const Workshop& workshop, const Json& arguments, Call& call) {
  STITCH_TRY(const fs::path program, workshop.roots.resolve("program", text(arguments, "program")));
  std::error_code ec;
  if (!fs::is_directory(program, ec))
    return user_error("program", "'program' must be a folder that code, optimize or write_region wrote");
  if (const std::string out = text(arguments, "out"); !out.empty()) {
    STITCH_TRY(const fs::path target, workshop.roots.resolve("out", out));
    if (target == program) return user_error("arguments", "'out' must not be the folder of 'program'");
  }
  STITCH_TRY(const Package package, load_package(program));
  STITCH_TRY(Draft draft, Draft::create(workshop, arguments));
  STITCH_TRY(const ReplacedRegion replaced,
             put_into_copy(package, text(arguments, "region"), text(arguments, "source"), draft.path()));
  STITCH_TRY(const verifier::Verdict verdict,
             judge(workshop, replaced.folder, arguments, flag(arguments, "quick", true), call));
  STITCH_TRY(const std::string kept, draft.keep(verdict.passed() || flag(arguments, "keep_failed")));
  const Speed speed = speed_of(verdict, std::nullopt);
  Json more = {{"file", replaced.file}};
  if (!speed.said.empty()) more["speed"] = speed.structured;
  std::string said = format("{} was replaced", replaced.file);
  if (!replaced.also.empty()) {
    more["also_replaces"] = replaced.also;
    said += ", which is also the code of " + join(replaced.also, ", ");
  }
  if (!kept.empty()) {
    more["program"] = kept;
    said += " in " + kept;
  }
  return with(answer_of(verdict, call, said + ".\n" + speed.said), more);
}

Result<Answer> in_a_plan(const Workshop& workshop, const Json& arguments, Call& call) {
  STITCH_TRY(const fs::path source, workshop.roots.resolve("model", text(arguments, "model")));
  STITCH_TRY(const GpuSpec gpu, gpu_of(arguments));
  STITCH_TRY(verifier::VerifyOptions options,
             verify_options(arguments, flag(arguments, "quick", true), call));
  const Overwrite overwrite = flag(arguments, "overwrite") ? Overwrite::force : Overwrite::refuse;
  fs::path out;
  if (const std::string folder = text(arguments, "out"); !folder.empty()) {
    STITCH_TRY(out, workshop.roots.resolve("out", folder));
    STITCH_CHECK(OutputFolder::check(out, overwrite));
  }
  call.progress("importing");
  TaskOptions how = task_options_of(workshop, arguments);
  how.limits = code::limits_on(gpu);
  STITCH_TRY(verifier::OpenedTask opened, verifier::open_task_to_judge(source, how, options.on_progress));
  const std::shared_ptr<const Task> task = opened.task;
  STITCH_TRY(const plan::GivenPlan given, plan_of(workshop, arguments, task->graph, gpu));
  STITCH_TRY(const RegionNeeds needs, needs_of(given, text(arguments, "region")));
  STITCH_TRY(const plan::Plan plan,
             code::with_source(
                 given.context, given.plan, needs.region,
                 {.function = needs.function, .text = text(arguments, "source"), .author = "an MCP client"}));
  STITCH_TRY(PackageContents contents, code::write_program(given.context, plan));
  STITCH_CHECK(agents::add_task(contents, *task));
  STITCH_TRY(const ScratchFolder scratch, ScratchFolder::create("stitch-region"));
  STITCH_TRY(const Published tried, write_package(scratch.path() / "program", contents));
  options.program = tried.folder;
  STITCH_TRY(const auto verifier, verifier::Verifier::open(std::move(opened), options));
  STITCH_TRY(const verifier::Verdict verdict, verifier->judge(options));
  std::string kept;
  if (!out.empty() && (verdict.passed() || flag(arguments, "keep_failed"))) {
    STITCH_TRY(const Published published, write_package(out, contents, overwrite));
    kept = published.folder.string();
  }
  const std::string document = dump(plan::to_json(given.context, plan)),
                    uri =
                        call.keep("plan", task->graph.name + " with " + needs.region + " written", document);
  auto builtin = std::ranges::find(given.plan.regions, needs.region, &plan::Region::name);
  std::optional<double> estimate;
  if (!builtin->technique->takes_source())
    estimate = plan::estimate(given.context, given.plan, *builtin).seconds();
  const Speed speed = speed_of(verdict, estimate);
  Json more = {{"plan", uri}};
  if (!speed.said.empty()) more["speed"] = speed.structured;
  if (!kept.empty()) more["program"] = kept;
  const std::string said = format("The plan with your {}: {}{}\n{}", needs.region, uri,
                                  kept.empty() ? "" : "; the program: " + kept, speed.said);
  Answer answer = with(answer_of(verdict, call, said), more);
  answer.resources.push_back(uri);
  return answer;
}

std::vector<Field> written_fields() {
  std::vector<Field> out = verdict_fields();
  out.insert(out.end(), {{"plan", Kind::text, "URI of the plan with the source in it"},
                         {"program", Kind::text, "the folder, if it was kept"},
                         {"file", Kind::text, "of 'program': the file that was replaced"},
                         {"also_replaces", Kind::list, "of 'program': other regions in that file"},
                         {"speed", Kind::object,
                          "where nothing was timed: that it isn't compared, and what the built-in code "
                          "of the region is estimated to take"}});
  return out;
}

}  // namespace

Tool write_region_tool(Shared workshop) {
  return {
      .name = "write_region",
      .title = "Try a kernel for one region",
      .description =
          "Put your CUDA source in the place of one region, build the program and verify it: the region "
          "alone and the whole. The source has to define the function that the tool region names. Without "
          "'program' the region is one of the plan (the built-in Planner's, or 'plan', 'plan_file'), and the"
          " answer has the plan with your source in it, to go on from. With 'program' the region's file is "
          "replaced in a copy of that folder, and must "
          "define what that file defined. With 'out' a program that passed is kept there.",
      .schema = schema_of(
          {model_argument(),
           {"region", Kind::text, "the region's name", true},
           {.name = "source",
            .description = "the whole CUDA file",
            .required = true,
            .most_characters = 1 << 20},
           {"program", Kind::text, "a program folder that code or optimize wrote (default: the plan's)"},
           plan_argument(),
           {"plan_file", Kind::text, "a file with a plan document"},
           gpu_argument(),
           {"out", Kind::text, "a folder for the new program if it passes (default: none)"},
           {"keep_failed", Kind::flag, "write 'out' although it failed (default: false)"},
           numerics_argument(),
           device_argument(),
           {"quick", Kind::flag, "fewer checks (default: true)"},
           {"timing", Kind::flag, "time it on a GPU (default: true)"},
           mode_argument(),
           class_argument(),
           overwrite_argument()}),
      .writes_files = true,
      .runs_code = true,
      .output = output_schema(written_fields()),
      .run = [workshop](const Json& arguments, Call& call) {
        return arguments.contains("program") ? in_a_copy(*workshop, arguments, call)
                                             : in_a_plan(*workshop, arguments, call);
      }};
}

}  // namespace stitch::serve
