#include "import/task.h"

#include "base/file.h"
#include "graph/folder.h"
#include "import/import_instances.h"

namespace stitch {

namespace {

Result<void> find_source(const fs::path& source, const TaskOptions& options) {
  std::error_code ec;
  if (!fs::exists(source, ec))
    return at(source.string(), user_error("no_file", "no such file or folder",
                                          "name a .py task, a graph folder, or a graph.txt"));
  if (!Task::is_python(source) && !options.model_class.empty())
    return at(source.string(), user_error("flags", "--class is for .py files; this graph is imported already",
                                          "leave it out, or name the .py file"));
  if (!Task::is_python(source) && options.dynamic && !options.dynamic->empty())
    return at(source.string(),
              user_error("flags", "--dynamic is for .py files; this graph has its sizes already",
                         "leave it out, or name the .py file"));
  return {};
}

Result<std::shared_ptr<const Task>> import_python(Exporter& exporter, Task task,
                                                  const OnProgress& on_progress) {
  STITCH_TRY(ScratchFolder scratch, ScratchFolder::create_in_memory("stitchcuda-task"));
  ImportRequest request{.task = task.source,
                        .out = scratch.path(),
                        .class_name = task.options.model_class,
                        .mode = task.options.mode,
                        .weights = task.options.weights,
                        .algebra = task.options.algebra,
                        .limits = task.options.limits};
  STITCH_TRY(task.text, read_file(task.source));
  STITCH_TRY(Imported imported, import_into(exporter, request, on_progress));
  task.graph = std::move(imported.graph);
  task.facts = std::move(imported.facts);
  if (task.options.weights) {
    // Mapped, so it outlives its folder.
    STITCH_TRY(Safetensors weights, load_weights(scratch.path() / weights_file, task.graph));
    task.weights = std::make_shared<const Safetensors>(std::move(weights));
  }
  if (task.options.dynamic) {
    Dimensions dimensions = dimensions_in(task.facts);
    if (!task.options.dynamic->empty()) {
      STITCH_TRY(dimensions, parse_dimensions(*task.options.dynamic, task.graph));
    }
    STITCH_TRY(Instances instances, import_instances(exporter, task, std::move(dimensions), on_progress));
    if (!instances.all.empty()) task.instances = std::make_shared<const Instances>(std::move(instances));
  }
  return std::make_shared<const Task>(std::move(task));
}

Result<std::shared_ptr<const Task>> load(Task task) {
  std::error_code ec;
  const bool folder = fs::is_directory(task.source, ec);
  if (folder) {
    STITCH_TRY(task.facts, read_task_facts(task.source));
  }
  if (auto same = check_mode(task.options.mode, task.facts, "this graph"); !same)
    return at(task.source.string(), same.error());
  if (!folder || !task.options.weights) {
    STITCH_TRY(task.graph, load_graph(task.source));
    return std::make_shared<const Task>(std::move(task));
  }
  STITCH_TRY(GraphFolder loaded, load_graph_folder(task.source));
  task.graph = std::move(loaded.graph);
  if (loaded.weights) task.weights = std::make_shared<const Safetensors>(*std::move(loaded.weights));
  return std::make_shared<const Task>(std::move(task));
}

}  // namespace

Result<std::shared_ptr<const Task>> open_task(const fs::path& source, const TaskOptions& options,
                                              const OnProgress& on_progress) {
  STITCH_CHECK(find_source(source, options));
  if (!Task::is_python(source)) return load({.source = source, .options = options});
  STITCH_TRY(Exporter exporter, Exporter::start(options.python));
  return import_python(exporter, {.source = source, .options = options}, on_progress);
}

Result<std::shared_ptr<const Task>> open_task(Exporter& exporter, const fs::path& source,
                                              const TaskOptions& options, const OnProgress& on_progress) {
  STITCH_CHECK(find_source(source, options));
  if (!Task::is_python(source)) return load({.source = source, .options = options});
  return import_python(exporter, {.source = source, .options = options}, on_progress);
}

}  // namespace stitch
