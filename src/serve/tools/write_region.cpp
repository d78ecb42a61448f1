// write_region: the client's CUDA for one region, verified with the whole program. Either in a plan, as the
// technique 'written' that holds its source, or in a copy of a program's folder.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agents/llm/region_brief.h"
#include "agents/optimize.h"
#include "base/output_folder.h"
#include "base/terminal/terminal.h"
#include "base/text.h"
#include "code/limits.h"
#include "code/rewritten.h"
#include "code/write_program.h"
#include "code/written.h"
#include "plan/cost/estimate.h"
#include "program/package.h"
#include "serve/tools/workshop.h"
#include "verify/verify.h"

namespace stitch::serve {

namespace {

constexpr uintmax_t most_program_bytes = 64 << 20;

// Files and folders, no links: what a link points to may lie anywhere.
Result<void> copy_program(const fs::path& from, const fs::path& to) {
  std::error_code ec;
  uintmax_t bytes = 0;
  fs::create_directories(to, ec);
  fs::recursive_directory_iterator walk(from, ec);
  if (ec) return at(from.string(), work_error("read", ec.message()));
  for (const auto& entry : walk) {
    const fs::path target = to / entry.path().lexically_relative(from);
    if (entry.is_symlink(ec)) continue;
    if (entry.is_directory(ec)) {
      if (entry.path().filename() == "build") walk.disable_recursion_pending();
      fs::create_directories(target, ec);
    } else if (entry.is_regular_file(ec) && entry.path().filename() != ".stitchcuda") {
      bytes += entry.file_size(ec);
      if (bytes > most_program_bytes)
        return at(from.string(), user_error("program", "too large for a generated program"));
      fs::copy_file(entry.path(), target, fs::copy_options::overwrite_existing, ec);
    }
    if (ec) return at(entry.path().string(), work_error("copy", ec.message()));
  }
  return {};
}

Result<const ManifestRegion*> find_region(const Manifest& manifest, const std::string& name) {
  std::vector<std::string> names;
  for (const ManifestRegion& region : manifest.regions) {
    if (region.name == name) return &region;
    names.push_back(region.name);
  }
  auto near = nearest(name, names);
  return user_error("region", format("the program has no region '{}'", printable(shorten(name, 60))),
                    near ? format("did you mean '{}'?", *near) : "one of: " + join(names, ", "));
}

// The client's source for one region in a copy of a program's folder: only the region's file is replaced.
struct ReplacedRegion {
  fs::path folder;                // the copy
  std::string file;               // that was replaced
  std::vector<std::string> also;  // other regions in that file
};

Result<ReplacedRegion> put_into_copy(const Package& package, const std::string& name,
                                     const std::string& source, const fs::path& copy) {
  STITCH_TRY(const ManifestRegion* region, find_region(package.manifest, name));
  ReplacedRegion place{copy, region->file, {}};
  if (!region->file.starts_with("regions/") || region->file.find("..") != std::string::npos)
    return user_error(
        "region", format("the region '{}' has no file of its own: it is in {}", region->name, region->file));
  for (const ManifestRegion& other : package.manifest.regions)
    if (other.file == region->file && other.name != region->name) place.also.push_back(other.name);
  STITCH_CHECK(copy_program(package.folder, copy));
  STITCH_CHECK(write_file(copy / region->file, source + "\n"));
  return place;
}

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

// region: the contract of one region of a plan, and the CUDA that the built-in Coder writes for it.

Result<RegionNeeds> needs_of(const plan::GivenPlan& given, const std::string& region) {
  const std::vector<plan::Region>& regions = given.plan.regions;
  auto found = std::ranges::find(regions, region, &plan::Region::name);
  if (found == regions.end()) {
    std::vector<std::string> names;
    for (const plan::Region& each : regions) names.push_back(each.name);
    auto near = nearest(region, names);
    return user_error("region", format("the plan has no region '{}'", printable(shorten(region, 60))),
                      near ? format("did you mean '{}'?", *near) : "one of: " + join(names, ", "));
  }
  STITCH_TRY(const std::vector<code::RegionRequest> requests, code::requests_of(given.context, given.plan));
  const code::RegionRequest& request = requests[static_cast<size_t>(found - regions.begin())];
  return RegionNeeds{.region = region,
                     .function = code::required_name(request),
                     .signature = code::required_function(request),
                     .places = code::describe_places(request),
                     .in_pytorch = agents::region_in_pytorch(given.context.graph, *found),
                     .in_graph = code::graph_of_region(request),
                     .rules = code::contract_of_written(request),
                     .technique = std::string(found->technique->name())};
}

namespace {

Result<Answer> run_region(const Workshop& workshop, const Json& arguments, Call& call) {
  STITCH_TRY(const GpuSpec gpu, gpu_of(arguments));
  STITCH_TRY(const auto task, open_model(workshop, arguments, false, call));
  STITCH_TRY(const plan::GivenPlan given, plan_of(workshop, arguments, task->graph, gpu));
  STITCH_TRY(const RegionNeeds needs, needs_of(given, text(arguments, "region")));
  std::string present = "(none)";
  STITCH_TRY(const PackageContents contents, code::write_program(given.context, given.plan));
  for (const ManifestRegion& region : contents.manifest.regions)
    if (auto file = contents.sources.find(region.file);
        region.name == needs.region && file != contents.sources.end())
      present = file->second;
  const bool same = present.find(needs.signature) != std::string::npos;
  const Json structured = {{"region", needs.region},      {"technique", needs.technique},
                           {"function", needs.function},  {"signature", needs.signature},
                           {"rules", needs.rules},        {"places", needs.places},
                           {"pytorch", needs.in_pytorch}, {"graph", needs.in_graph},
                           {"builtin_source", present},   {"builtin_has_this_signature", same}};
  return Answer{
      format("A source for {} defines\n\n{}\n\n{}\n{}\nIt computes\n\n{}\n{}\nBuilt in ({}){}:\n\n{}",
             needs.region, needs.signature, needs.rules, needs.places, needs.in_pytorch, needs.in_graph,
             needs.technique,
             same ? "" : "; its packed weights and library calls are yours if your source declares them",
             present),
      std::make_shared<const Json>(structured),
      {}};
}

}  // namespace

Tool region_tool(Shared workshop) {
  return {
      .name = "region",
      .title = "Contract of a region",
      .description =
          "The contract of one region of a plan: the function that a source for it has to define, the memory "
          "layout of its arguments, what it computes, and the current CUDA code. Read it before "
          "write_region.",
      .schema = schema_of({model_argument(),
                           {"region", Kind::text, "a region's name in the plan", true},
                           numerics_argument(),
                           gpu_argument(),
                           plan_argument(),
                           {"plan_file", Kind::text, "a file with a plan document"},
                           mode_argument(),
                           class_argument()}),
      .runs_code = true,
      .output = output_schema(
          {{"region", Kind::text, "its name"},
           {"technique", Kind::text, "of the built-in code"},
           {"function", Kind::text, "that a source has to define, by name"},
           {"signature", Kind::text, "and whole, with shapes"},
           {"rules", Kind::text, "what it may do and declare, and how it reports a failed launch"},
           {"places", Kind::text, "the memory layout of its arguments"},
           {"pytorch", Kind::text, "what it computes, in PyTorch"},
           {"graph", Kind::text, "and in the graph's words"},
           {"builtin_source", Kind::text, "the built-in code"},
           {"builtin_has_this_signature", Kind::flag, "whether that has the contract's signature"}}),
      .run = [workshop](const Json& arguments, Call& call) {
        return run_region(*workshop, arguments, call);
      }};
}

}  // namespace stitch::serve
