// plan: the built-in Planner's plan, or a check of the client's plan.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "code/write_program.h"
#include "serve/tools/tools.h"

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
                           {.name = "plan_file", .description = "a file with a plan document"},
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

}  // namespace stitch::serve
