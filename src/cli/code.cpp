#include "cli/code.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/progress.h"
#include "cli/choose_gpu.h"
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

}  // namespace

Result<int> run_code(const CodeCommand& command, Console& console) {
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
  contents.gpu = gpu.name;
  STITCH_CHECK(add_constants(loaded, contents));
  if (fs::path(command.model).extension() == ".py") {
    STITCH_TRY(contents.task, read_file(command.model));
    if (!command.model_class.empty()) contents.model_class = command.model_class;
  }
  STITCH_CHECK(write_package(command.out, contents));
  if (console.json)
    console.out << Json{{"program", command.out}, {"regions", plan.regions.size()}}.dump(2) << '\n';
  else
    console.out << format("{}: {} regions\n", command.out, plan.regions.size());
  return 0;
}

}  // namespace stitch
