#include "cli/code.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/choose_gpu.h"
#include "cli/output_place.h"
#include "code/technique.h"
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
  STITCH_CHECK(check_steps(command.without));
  STITCH_CHECK(OutputFolder::check(command.out, overwrite_if(command.force)));
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create("stitchcuda-code"));
  fs::path folder = command.model;
  if (folder.extension() == ".py") {
    Progress progress(console.err, console.err_terminal, console.json, "importing");
    STITCH_TRY(Exporter exporter, Exporter::start(command.python));
    folder = scratch.path() / "graph";
    ImportRequest request{.task = command.model, .out = folder, .class_name = command.model_class};
    STITCH_CHECK(import_task(exporter, request, [&](std::string_view text) { progress.detail(text); }));
  }
  STITCH_TRY(GraphFolder loaded, load_graph_folder(folder));
  STITCH_TRY(GpuSpec gpu, choose_gpu(""));
  auto wanted = [&](const plan::StepRule& rule) {
    bool may_round = command.numerics == "half" || command.rounding;
    return !command.plain && (may_round || !rule.rounds) &&
           std::ranges::find(command.without, rule.name) == command.without.end();
  };
  STITCH_TRY(plan::Plan plan,
             plan::plan_of_steps(loaded.graph, command.numerics, code::techniques(), gpu, wanted));
  STITCH_TRY(PackageContents contents, code::write_program(loaded.graph, plan));
  STITCH_CHECK(add_constants(loaded, contents));
  if (fs::path(command.model).extension() == ".py") {
    STITCH_TRY(contents.task, read_file(command.model));
    if (!command.model_class.empty()) contents.model_class = command.model_class;
  }
  STITCH_TRY(Published published, write_package(command.out, contents, overwrite_if(command.force)));
  if (console.json) {
    Json json = {{"program", command.out}, {"regions", plan.regions.size()}};
    add_place(json, "program", published, command.out);
    console.out << json.dump(2) << '\n';
  } else {
    console.out << said_of(published, command.out)
                << format("{}: {} regions\n", place_of(published, command.out), plan.regions.size());
  }
  return 0;
}

}  // namespace stitch
