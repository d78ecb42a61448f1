// stitchcuda plan: what the built-in Planner would do with a model.
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/pages/page.h"
#include "cli/pages/report.h"
#include "code/catalogue.h"
#include "code/limits.h"
#include "code/write_program.h"
#include "learn/coder/propose.h"
#include "plan/cost/estimate.h"
#include "plan/cost/pytorch.h"
#include "plan/document/document.h"
#include "plan/steps.h"

namespace stitch {

namespace {

struct PlanCommand {
  std::string model;
  std::string numerics = "default";
  std::string compatible;  // kernelbench
  std::string gpu;         // empty: the one in this machine, or else an H200
  TaskOptions task_options{.weights = false, .dynamic = std::vector<std::string>()};
  std::string html;           // empty: no page
  std::string out;            // the document; empty: none
  std::string plan;           // a document to read instead of planning
  std::string coder_weights;  // of the compact Coder; empty: none
  bool schema = false;
  bool force = false;  // overwrite existing output
};

Result<plan::GivenPlan> plan_for(const PlanCommand& command, const Task& task, const GpuSpec& gpu,
                                 Numerics numerics, const plan::ReferenceFacts& facts) {
  if (!command.plan.empty()) return read_plan_file(command.plan, task, gpu, numerics);
  plan::Context context(task.planned(), gpu, numerics, facts);
  context.instances = task.instances;
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

// What the page shows: the graph as `show` has it, the plan, and what its techniques do.
Json page_document(const PlanCommand& command, const plan::Context& context, const plan::Plan& plan) {
  Json out = report_json(make_report(context.graph, command.model, context.gpu));
  out["plan"] = plan::to_json(context, plan);
  for (const plan::Region& region : plan.regions)
    out["techniques"][std::string(region.technique->name())] = region.technique->idea();
  return out;
}

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
  TaskOptions options = command.task_options;
  options.algebra = !facts.as_pytorch;
  options.limits = code::limits_on(gpu);
  STITCH_TRY(std::shared_ptr<const Task> task, load_model(command.model, options, console));
  Warnings warnings(console);
  warnings.say_mode(task->facts);
  STITCH_TRY(const plan::GivenPlan made, plan_for(command, *task, gpu, numerics, facts));
  const auto& [context, plan] = made;
  if (!command.plan.empty())
    STITCH_CHECK(code::write_program(context, plan));  // can every region be written?
  if (!command.out.empty())
    STITCH_CHECK(write_output_file(command.out, document_text(plan::to_json(context, plan)),
                                   overwrite_if(command.force)));
  if (!command.html.empty())
    STITCH_CHECK(write_output_file(command.html, page(View::plan, page_document(command, context, plan)),
                                   overwrite_if(command.force)));
  if (console.json) {
    Json document = plan::to_json(context, plan);
    warnings.add_to(document);
    console.out << document_text(document);
  } else {
    console.out << plan::text(context, plan, console.out_terminal);
  }
  return 0;
}

}  // namespace

Run add_plan(CLI::App& app) {
  const auto plan = std::make_shared<PlanCommand>();
  Flags flags(app, "plan", "Show how a model would be computed: regions, techniques, steps, estimates");
  flags("MODEL", plan->model, "a .py file, a graph folder, or a graph.txt");
  flags("-o,--out", plan->out, "FILE", "write the plan as JSON, to edit and pass to --plan");
  flags("--plan", plan->plan, "FILE", "check and show this plan instead of making one");
  flags("--coder-weights", plan->coder_weights, "FILE",
        "use the compact Coder's choices: sm_90, or weights of train");
  flags("--schema", plan->schema, "print the JSON Schema of plan documents");
  flags.gpu(plan->gpu, "the GPU to plan for");
  flags.numerics(plan->numerics);
  flags.compatible(plan->compatible);
  flags("--html", plan->html, "FILE", "write an HTML page with the graph and its regions");
  flags.task(plan->task_options);
  flags.force(plan->force);
  flags.json();
  flags.examples(
      "stitchcuda plan examples/resnet18.py\n"
      "stitchcuda plan model.py --gpu H100 --json\n"
      "stitchcuda plan model.py -o plan.json\n"
      "stitchcuda code model.py --plan plan.json -o program/");
  return [plan](Console& console) { return run_plan(*plan, console); };
}

}  // namespace stitch
