// stitchcuda package: a program's sources become a folder that builds and runs by itself.
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "base/terminal/wording.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "code/limits.h"
#include "graph/mode.h"
#include "graph/safetensors.h"
#include "program/package.h"

namespace stitch {

namespace {

struct PackageCommand {
  std::string program, task, out;
  std::string weights;  // a safetensors file; empty: the one in the program's folder, if there is one
  bool force = false;   // overwrite existing output
  TaskOptions task_options{.weights = false};
  std::string gpu;
};

// Sources, and the headers beside them: everything but a task and its like.
Result<void> add_files(const fs::path& folder, const fs::path& below, PackageContents& contents) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder / below, ec)) {
    fs::path extension = entry.path().extension();
    if (!entry.is_regular_file() || (extension != ".cu" && extension != ".h" && extension != ".cuh"))
      continue;
    STITCH_TRY(contents.sources[(below / entry.path().filename()).generic_string()], read_file(entry.path()));
  }
  return {};
}

// What the program's folder holds: tensors that no constructor makes, or weights.
Result<std::optional<Safetensors>> open_tensors(const fs::path& file) {
  std::error_code ec;
  if (!fs::exists(file, ec)) return std::optional<Safetensors>();
  STITCH_TRY(Safetensors held, Safetensors::open(file));
  return std::optional<Safetensors>(std::move(held));
}

bool has_every_node(const Graph& graph, const Manifest& manifest) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes) names.insert(graph[node.results.at(0)].name);
  for (const ManifestRegion& region : manifest.regions)
    for (const std::string& node : region.nodes)
      if (!names.contains(node)) return false;
  return true;
}

// model_new.py calls the program as this task is called: it has to be the task that the program was made
// from.
Result<void> check_task(const PackageCommand& command, const Manifest& manifest, const TaskFacts& facts,
                        Console& console) {
  TaskOptions options = command.task_options;
  options.mode = parse_mode(mode_in(facts)).value_or(options.mode);
  STITCH_TRY(const GpuSpec here, choose_gpu(""));
  options.limits = code::limits_of(command.program, here);
  if (options.model_class.empty() && facts && facts->is_object()) options.model_class = word(*facts, "class");
  std::string other;
  for (bool algebra : {true, false}) {  // programs in KernelBench's own rounding are made without
    options.algebra = algebra;
    STITCH_TRY(std::shared_ptr<const Task> task, load_model(command.task, options, console));
    other = difference(manifest.signature, signature_of(task->graph));
    if (!other.empty()) break;
    if (has_every_node(task->graph, manifest)) return {};
  }
  return at(command.task,
            user_error("other_task",
                       format("this is not the task that {} was made from: {}", command.program,
                              other.empty() ? "the program's regions are of other operations" : other),
                       "name the program's own task, or leave --task out: model_new.py is then not written"));
}

Result<int> run_package(const PackageCommand& command, Console& console) {
  STITCH_CHECK(OutputFolder::check(command.out, overwrite_if(command.force)));
  STITCH_TRY(Package package, load_package(command.program));
  PackageContents contents{.manifest = package.manifest};
  std::error_code ec;
  if (!fs::is_directory(command.program, ec))
    return at(command.program, user_error("package", "expected a program folder, got a file",
                                          "put it into a folder as program.cu"));
  STITCH_TRY(TaskFacts facts, read_task_facts(package.folder));
  if (auto same = check_mode(command.task_options.mode, facts, "this program"); !same)
    return at(command.program, same.error());
  Warnings warnings(console);
  warnings.say_mode(facts);
  contents.facts = facts;
  for (const char* below : {"", "regions"}) STITCH_CHECK(add_files(package.folder, below, contents));
  STITCH_TRY(std::optional<Safetensors> constants, open_tensors(package.folder / "constants.safetensors"));
  if (constants)
    for (const auto& [name, tensor] : constants->tensors()) contents.constants.emplace_back(name, tensor);
  const fs::path weights =
      command.weights.empty() ? package.folder / "weights.safetensors" : fs::path(command.weights);
  STITCH_TRY(std::optional<Safetensors> held, open_tensors(weights));
  if (held)
    STITCH_CHECK(
        add_weights(contents, std::make_shared<const Safetensors>(*std::move(held)), ShipWeights::always));
  else if (!command.weights.empty())
    return at(command.weights, user_error("no_file", "no such file"));
  if (!command.task.empty()) {
    STITCH_CHECK(check_task_file(command.task));
    STITCH_CHECK(check_task(command, package.manifest, facts, console));
    STITCH_CHECK(add_task(contents, command.task, command.task_options.model_class, facts));
  }
  if (!command.gpu.empty() || package.manifest.architecture.empty()) {
    STITCH_TRY(GpuSpec gpu, choose_gpu(command.gpu));
    contents.architecture = gpu.architecture.name;
    if (!package.manifest.needs.empty())
      STITCH_CHECK(check_architecture(package.manifest.needs, contents.architecture));
  }
  STITCH_TRY(Published published, write_package(command.out, contents, overwrite_if(command.force)));
  if (console.json) {
    Json document = {{"package", command.out}, {"sources", contents.sources.size()}};
    add_place(document, "package", published, command.out);
    warnings.add_to(document);
    console.out << document.dump(2) << '\n';
  } else {
    console.out << said_of(published, command.out)
                << format("{}: {}; build it with: cmake -B build && cmake --build build\n",
                          place_of(published, command.out), counted(std::ssize(contents.sources), "source"));
  }
  return 0;
}

}  // namespace

Run add_package(CLI::App& app) {
  const auto package = std::make_shared<PackageCommand>();
  Flags flags(app, "package", "Package a program as a folder that builds with CMake and nvcc alone");
  flags("PROGRAM", package->program, "a folder with program.cu").required();
  flags("--task", package->task, "FILE", "the task's .py file, to generate model_new.py from");
  flags.task(package->task_options, "the task's class");
  flags("--weights", package->weights, "FILE",
        "a safetensors file with the model's weights (default: the program's weights.safetensors)");
  flags("--gpu", package->gpu, "NAME", "the GPU that CMake builds for (default: the program's)");
  flags("-o,--out", package->out, "FOLDER", "the folder to write").required();
  flags.force(package->force);
  flags.json();
  flags.examples("stitchcuda package examples/programs/mlp --task examples/programs/mlp/task.py -o mlp/");
  return [package](Console& console) { return run_package(*package, console); };
}

}  // namespace stitch
