// region: the contract of one region of a plan, and the CUDA that the built-in Coder writes for it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "agents/llm/region_brief.h"
#include "base/terminal/terminal.h"
#include "base/text.h"
#include "code/write_program.h"
#include "code/written.h"
#include "graph/text.h"
#include "serve/tools/regions.h"
#include "serve/tools/tools.h"

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
                    .signature = code::required_function(request, 0),
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
  const std::string rules(code::contract_of_written());
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
             same ? "" : "; its own signature, with packed weights and library calls, is not the contract",
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
                           {.name = "region", .description = "a region's name in the plan", .required = true},
                           numerics_argument(),
                           gpu_argument(),
                           plan_argument(),
                           {.name = "plan_file", .description = "a file with a plan document"},
                           mode_argument(),
                           class_argument()}),
      .runs_code = true,
      .output = output_schema(
          {{"region", Kind::text, "its name"},
           {"technique", Kind::text, "of the built-in code"},
           {"function", Kind::text, "that a source has to define, by name"},
           {"signature", Kind::text, "and whole, with shapes"},
           {"rules", Kind::text, "what it may do, and how it reports a failed launch"},
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
