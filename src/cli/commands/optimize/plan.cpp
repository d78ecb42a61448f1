#include "cli/commands/optimize/plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/choose_gpu.h"
#include "cli/commands/optimize/plan_file.h"
#include "cli/flags/model_options.h"
#include "cli/load_model.h"
#include "cli/output_place.h"
#include "cli/pages/page.h"
#include "code/catalogue.h"
#include "code/write_program.h"
#include "learn/coder/propose.h"
#include "plan/cost/estimate.h"
#include "plan/cost/pytorch.h"
#include "plan/document/document.h"
#include "plan/steps.h"

namespace stitch {

namespace {

Result<plan::GivenPlan> plan_for(const PlanCommand& command, const Graph& graph, const GpuSpec& gpu,
                                 Numerics numerics, const plan::ReferenceFacts& facts) {
  if (!command.plan.empty()) return read_plan_file(command.plan, graph, gpu, numerics);
  plan::Context context(graph, gpu, numerics, facts);
  STITCH_TRY(plan::Plan plan, plan::make_plan(context, code::catalogue()));
  if (!command.coder_weights.empty()) {
    STITCH_TRY(const learn::Committee coder, learn::load_coder(command.coder_weights));
    const double before = plan::estimate(context, plan);
    STITCH_TRY(learn::Proposed proposed, learn::with_learned_choices(context, std::move(plan), coder));
    plan = std::move(proposed.plan);
    if (!proposed.changed.empty())
      plan.steps.push_back({std::string(learn::learned_step), "as the compact Coder would have it",
                            std::move(proposed.changed), before - plan::estimate(context, plan)});
  }
  return plan::GivenPlan{std::move(context), std::move(plan)};
}

// What the page shows of a plan: its steps, and each region's technique with its shares of time and error.
// Errors are there where they were measured.
Json page_of_plan(const plan::Context& context, const plan::Plan& plan) {
  const Json document = plan::to_json(context, plan);
  const double whole = plan::estimate(context, plan);
  Json out = {{"class", document["class"]},  {"gpu", context.gpu.name}, {"text", seconds_text(whole)},
              {"one_graph", plan.one_graph}, {"steps", Json::array()},  {"regions", Json::array()}};
  const plan::PyTorchEstimate pytorch = plan::estimate_pytorch(context.graph, context.gpu, plan.numerics);
  out["pytorch"] = format("PyTorch {} in a CUDA graph, {} eager", seconds_text(pytorch.eager_graph),
                          seconds_text(pytorch.eager));
  double gains = 0, times = 0;
  for (const plan::Step& step : plan.steps) gains += std::max(step.predicted_gain, 0.0);
  for (const plan::Region& region : plan.regions) times += plan::estimate(context, plan, region).seconds();
  for (const plan::Step& step : plan.steps)
    out["steps"].push_back({{"title", step.title},
                            {"why", step.why},
                            {"regions", step.regions.size()},
                            {"gain", gain_text(step.predicted_gain, whole)},
                            {"share", gains > 0 ? std::max(step.predicted_gain, 0.0) / gains : 0}});
  for (size_t i = 0; i < plan.regions.size(); ++i) {
    const plan::Region& region = plan.regions[i];
    const double seconds = plan::estimate(context, plan, region).seconds();
    Json one = {
        {"name", region.name},
        {"technique", region.technique->name()},
        {"idea", region.technique->idea()},
        {"arithmetic", plan::name(region.offer.arithmetic)},
        {"node", document["regions"][i]["nodes"].empty() ? Json("") : document["regions"][i]["nodes"].back()},
        {"seconds", seconds},
        {"text", seconds_text(seconds)},
        {"share", times > 0 ? seconds / times : 0}};
    if (document["regions"][i].contains("error_share"))
      one["error_share"] = document["regions"][i]["error_share"];
    out["regions"].push_back(std::move(one));
  }
  return out;
}

}  // namespace

Result<int> run_plan(const PlanCommand& command, Console& console) {
  if (command.schema) {
    console.out << document_text(plan::plan_schema(code::catalogue()));
    return 0;
  }
  if (command.model.empty())
    return user_error("usage", "MODEL is required", "name a .py file, a graph folder or a graph.txt");
  STITCH_TRY(const Numerics numerics, parse_numerics(command.numerics));
  STITCH_TRY(const plan::ReferenceFacts facts, facts_for(command.compatible, numerics));
  STITCH_TRY(GpuSpec gpu, choose_gpu(command.gpu));
  for (const std::string& file : {command.html, command.out})
    if (!file.empty()) STITCH_CHECK(check_output_file(file, overwrite_if(command.force)));
  const TaskOptions options{.model_class = command.model_class,
                            .mode = command.mode,
                            .python = command.python,
                            .weights = false,
                            .algebra = !facts.as_pytorch};
  STITCH_TRY(std::shared_ptr<const Task> task, load_model(command.model, options, console));
  const Graph& graph = task->graph;
  Warnings warnings(console);
  warnings.say_mode(task->facts);
  STITCH_TRY(const plan::GivenPlan made, plan_for(command, graph, gpu, numerics, facts));
  const auto& [context, plan] = made;
  if (!command.plan.empty())
    STITCH_CHECK(code::write_program(context, plan));  // can every region be written?
  if (!command.out.empty())
    STITCH_CHECK(write_output_file(command.out, document_text(plan::to_json(context, plan)),
                                   overwrite_if(command.force)));
  if (!command.html.empty()) {
    Report report = make_report(graph, command.model, gpu);
    report.frames.resize(graph.nodes.size());
    for (const plan::Region& region : plan.regions)
      for (int32_t node : region.nodes)
        report.frames[static_cast<size_t>(node)] = format("{} · {}", region.name, region.technique->name());
    report.plan = std::make_shared<const Json>(page_of_plan(context, plan));
    STITCH_CHECK(write_output_file(command.html, report_page(report), overwrite_if(command.force)));
  }
  if (console.json) {
    Json document = plan::to_json(context, plan);
    warnings.add_to(document);
    console.out << document_text(document);
  } else {
    console.out << plan::text(context, plan, console.out_terminal);
  }
  return 0;
}

}  // namespace stitch
