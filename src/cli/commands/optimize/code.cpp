// stitchcuda code: the program that the built-in Planner and Coder make of a model, without running it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "agents/optimize.h"
#include "base/json.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "code/catalogue.h"
#include "code/limits.h"
#include "code/write_program.h"
#include "graph/mode.h"
#include "plan/steps.h"

namespace stitch {

namespace {

struct CodeCommand {
  std::string model, out;
  bool force = false;  // over what is in the way of the output
  std::string numerics = "default";
  TaskOptions task_options{.dynamic = std::vector<std::string>()};
  std::string gpu;
  std::string plan;        // a document to read instead of planning
  std::string compatible;  // kernelbench
  bool plain = false;
  std::vector<std::string> without;  // steps, by name
  std::string weights = "auto";      // in the package: auto, always, never
  bool rounding = false;             // steps that optimize keeps only if a Verifier accepts them
};

// In the order of the plan, a step's name once.
Result<void> check_steps(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const plan::StepRule& rule : plan::all_steps()) known.emplace_back(rule.name);
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end())
      return user_error("step", format("unknown step '{}'", name), "one of: " + join(known, ", "));
  return {};
}

Result<int> run_code(const CodeCommand& command, Console& console) {
  STITCH_TRY(const Numerics numerics, parse_numerics(command.numerics));
  STITCH_TRY(const ShipWeights weights, parse_ship_weights(command.weights));
  STITCH_CHECK(check_steps(command.without));
  STITCH_TRY(const plan::ReferenceFacts facts, facts_for(command.compatible, numerics));
  STITCH_TRY(GpuSpec gpu, choose_gpu(command.gpu));
  STITCH_CHECK(OutputFolder::check(command.out, overwrite_if(command.force)));
  TaskOptions options = command.task_options;
  options.algebra = !facts.as_pytorch;
  options.limits = code::limits_on(gpu);
  STITCH_TRY(std::shared_ptr<const Task> task, load_model(command.model, options, console));
  Warnings warnings(console);
  warnings.say_mode(task->facts);
  auto wanted = [&](const plan::StepRule& rule) {
    bool may_round = numerics == Numerics::half || command.rounding;
    return !command.plain && (may_round || !rule.rounds) &&
           std::ranges::find(command.without, rule.name) == command.without.end();
  };
  auto planned = [&]() -> Result<plan::GivenPlan> {
    if (!command.plan.empty()) return read_plan_file(command.plan, *task, gpu, numerics);
    plan::Context context(task->planned(), gpu, numerics, facts);
    context.instances = task->instances;
    STITCH_TRY(plan::Plan plan, plan::plan_of_steps(context, code::catalogue(), wanted));
    return plan::GivenPlan{std::move(context), std::move(plan)};
  };
  STITCH_TRY(const plan::GivenPlan made, planned());
  const auto& [context, plan] = made;
  STITCH_TRY(PackageContents contents, code::write_program(context, plan));
  STITCH_CHECK(agents::add_task(contents, *task));
  STITCH_CHECK(add_weights(contents, task->weights, weights));
  STITCH_TRY(Published published, write_package(command.out, contents, overwrite_if(command.force)));
  if (console.json) {
    Json document = {{"program", command.out}, {"regions", plan.regions.size()}};
    add_place(document, "program", published, command.out);
    warnings.add_to(document);
    console.out << document.dump(2) << '\n';
  } else {
    console.out << said_of(published, command.out)
                << format("{}: {}\n", place_of(published, command.out),
                          counted(std::ssize(plan.regions), "region"));
  }
  return 0;
}

}  // namespace

Run add_code(CLI::App& app) {
  const auto code = std::make_shared<CodeCommand>();
  Flags flags(app, "code", "Write a CUDA program for a model");
  flags("MODEL", code->model, "a .py file or a graph folder").required();
  flags("-o,--out", code->out, "FOLDER", "the program's folder").required();
  flags("--plan", code->plan, "FILE", "write the program for this plan instead of making a plan");
  flags("--plain", code->plain, "one simple kernel per node: no fusion, no libraries");
  flags("--rounding", code->rounding, "also store fp16 between convolutions: verify the result");
  flags("--without", code->without, "STEP", "a step to leave out, by its name in the plan");
  flags("--weights", code->weights, "WHEN",
        "put the model's weights into the folder: auto (up to 256 MB), always or never (default: auto)");
  flags.gpu(code->gpu, "the GPU to write it for");
  flags.numerics(code->numerics);
  flags.compatible(code->compatible);
  flags.task(code->task_options);
  flags.force(code->force);
  flags.json();
  flags.examples(
      "stitchcuda code model.py -o program/\n"
      "stitchcuda verify program/ --task model.py");
  return [code](Console& console) { return run_code(*code, console); };
}

}  // namespace stitch
