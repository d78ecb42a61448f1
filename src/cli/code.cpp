#include "cli/code.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/choose_gpu.h"
#include "cli/model_options.h"
#include "cli/output_place.h"
#include "cli/plan_file.h"
#include "code/catalogue.h"
#include "code/write_program.h"
#include "graph/folder.h"
#include "import/import.h"
#include "plan/steps.h"

namespace stitch {

namespace {

// Weights are needed only for the constants among them.
Result<void> add_constants(const GraphFolder& folder, PackageContents& contents) {
  for (const ManifestTensor& tensor : contents.manifest.signature.parameters) {
    if (tensor.role != "constant") continue;
    const TensorBytes* found = folder.weights ? folder.weights->find(tensor.data) : nullptr;
    if (!found)
      return work_error("weights", format("the constant '{}' is not in the graph's weights", tensor.data),
                        "import the model again, with weights");
    contents.constants.emplace_back(tensor.data, *found);
  }
  return {};
}

// In the order of the plan, a step's name once.
Result<void> check_steps(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const plan::StepRule& rule : plan::all_steps()) known.emplace_back(rule.name);
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end())
      return user_error("step", format("there is no step '{}'", name), "one of: " + join(known, ", "));
  return {};
}

}  // namespace

Result<int> run_code(const CodeCommand& command, Console& console) {
  STITCH_TRY(const Numerics numerics, parse_numerics(command.numerics));
  STITCH_CHECK(check_steps(command.without));
  STITCH_CHECK(OutputFolder::check(command.out, overwrite_if(command.force)));
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitchcuda-code"));
  fs::path folder = command.model;
  if (folder.extension() == ".py") {
    Progress progress(console.err, console.err_terminal, console.json, "importing");
    STITCH_TRY(Exporter exporter, Exporter::start(command.python));
    folder = scratch.path() / "graph";
    ImportRequest request{
        .task = command.model, .out = folder, .class_name = command.model_class, .mode = command.mode};
    STITCH_CHECK(import_task(exporter, request, [&](std::string_view text) { progress.detail(text); }));
  }
  STITCH_TRY(GraphFolder loaded, load_graph_folder(folder));
  const bool imported = fs::path(command.model).extension() == ".py";
  if (auto same = check_mode(command.mode, loaded.task, "this graph"); !imported && !same)
    return at(command.model, same.error());
  Warnings warnings(console);
  warnings.say_mode(loaded.task);
  STITCH_TRY(GpuSpec gpu, choose_gpu(""));
  auto wanted = [&](const plan::StepRule& rule) {
    bool may_round = numerics == Numerics::half || command.rounding;
    return !command.plain && (may_round || !rule.rounds) &&
           std::ranges::find(command.without, rule.name) == command.without.end();
  };
  auto planned = [&]() -> Result<GivenPlan> {
    if (!command.plan.empty()) return read_plan_file(command.plan, loaded.graph, gpu, command.numerics);
    plan::Context context(loaded.graph, gpu, numerics);
    STITCH_TRY(plan::Plan plan, plan::plan_of_steps(context, code::catalogue(), wanted));
    return GivenPlan{std::move(context), std::move(plan)};
  };
  STITCH_TRY(const GivenPlan made, planned());
  const auto& [context, plan] = made;
  STITCH_TRY(PackageContents contents, code::write_program(context, plan));
  STITCH_CHECK(add_constants(loaded, contents));
  if (imported) STITCH_CHECK(add_task(contents, command.model, command.model_class, loaded.task));
  STITCH_TRY(Published published, write_package(command.out, contents, overwrite_if(command.force)));
  if (console.json) {
    Json document = {{"program", command.out}, {"regions", plan.regions.size()}};
    add_place(document, "program", published, command.out);
    warnings.add_to(document);
    console.out << document.dump(2) << '\n';
  } else {
    console.out << said_of(published, command.out)
                << format("{}: {} regions\n", place_of(published, command.out), plan.regions.size());
  }
  return 0;
}

}  // namespace stitch
