// region: the contract of one region of a plan, and the CUDA that the built-in Coder writes for it.
#include "serve/tools/region.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agents/llm/region_brief.h"
#include "base/terminal/terminal.h"
#include "base/text.h"
#include "code/write_program.h"
#include "code/written.h"
#include "graph/text.h"
#include "serve/tools/workshop.h"

namespace stitch::serve {

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
  const Graph& graph = given.context.graph;
  RegionNeeds needs{.region = region,
                    .function = code::required_name(request),
                    .signature = code::required_function(request),
                    .places = code::describe_places(request),
                    .in_pytorch = agents::region_in_pytorch(graph, *found),
                    .technique = std::string(found->technique->name())};
  for (int32_t node : found->nodes) needs.in_graph += print_node(graph, graph.node(node)) + "\n";
  return needs;
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
  const std::string rules = code::contract_of_written();
  const bool same = present.find(needs.signature) != std::string::npos;
  const Json structured = {{"region", needs.region},
                           {"technique", needs.technique},
                           {"function", needs.function},
                           {"signature", needs.signature},
                           {"rules", rules},
                           {"places", needs.places},
                           {"pytorch", needs.in_pytorch},
                           {"graph", needs.in_graph},
                           {"builtin_source", present},
                           {"builtin_has_this_signature", same}};
  return Answer{
      format("A source for {} defines\n\n{}\n\n{}\n{}\nIt computes\n\n{}\n{}\nBuilt in ({}){}:\n\n{}",
             needs.region, needs.signature, rules, needs.places, needs.in_pytorch, needs.in_graph,
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

}  // namespace

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

}  // namespace stitch::serve
