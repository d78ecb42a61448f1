// stitchcuda import: Python tasks become graph folders.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal/progress.h"
#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "code/limits.h"
#include "graph/cost.h"
#include "graph/mode.h"
#include "import/import_all.h"

namespace stitch {

namespace {

struct ImportOptions {
  std::vector<std::string> paths;  // .py files, or folders of them with `all`
  std::string out;                 // the graph folder; with several tasks the folder that holds theirs
  TaskOptions task_options;
  bool force = false;  // over what is in the way of the output
  int64_t seed = 42;
  bool all = false;
  int jobs = 0;  // 0: one a core
};

// model.py becomes model.graph beside it, unless the user names a folder.
fs::path default_out(const fs::path& task) { return task.stem().string() + ".graph"; }

Result<std::vector<ImportRequest>> requests_for(const ImportOptions& options) {
  STITCH_TRY(const GpuSpec gpu, choose_gpu(""));
  ImportRequest common{.class_name = options.task_options.model_class,
                       .mode = options.task_options.mode,
                       .seed = options.seed,
                       .weights = options.task_options.weights,
                       .limits = code::limits_on(gpu),
                       .overwrite = overwrite_if(options.force)};
  std::vector<ImportRequest> requests;
  auto add = [&](const fs::path& task, const fs::path& out) {
    requests.push_back(common);
    requests.back().task = task;
    requests.back().out = out;
  };
  if (!options.all) {
    bool several = options.paths.size() > 1;
    if (several && options.out.empty())
      return user_error("out", "several models need an output folder", "name it with -o FOLDER");
    for (const std::string& path : options.paths) {
      std::error_code ec;
      if (fs::is_directory(path, ec))
        return at(path, user_error("folder", "is a folder, not a .py file",
                                   "import every task below it with --all"));
      fs::path out = options.out.empty() ? default_out(path) : fs::path(options.out);
      add(path, several ? out / fs::path(path).stem() : out);
    }
    return requests;
  }
  if (options.out.empty()) return user_error("out", "--all needs an output folder", "name it with -o FOLDER");
  for (const std::string& folder : options.paths) {
    STITCH_TRY(std::vector<fs::path> tasks, find_tasks(folder));
    for (const fs::path& task : tasks)
      add(task, fs::path(options.out) / fs::relative(task, folder).replace_extension());
  }
  return requests;
}

Json outcome_json(const ImportOutcome& outcome) {
  Json json = {{"task", outcome.task.string()}};
  if (outcome.error) {
    json["error"] = to_json(*outcome.error)["error"];
    return json;
  }
  json.update(Json{{"graph", outcome.out.string()},
                   {"aten_nodes", outcome.aten_nodes},
                   {"nodes", outcome.nodes},
                   {"mode", mode_in(outcome.facts)},
                   {"seconds", outcome.seconds}});
  if (auto warning = mode_warning(outcome.facts)) json["warnings"] = {*warning};
  return json;
}

Result<int> import_one(const ImportRequest& request, const std::string& python, Console& console) {
  STITCH_CHECK(OutputFolder::check(request.out, request.overwrite));
  Result<Imported> imported = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json, "importing");
    STITCH_TRY(Exporter exporter, Exporter::start(python));
    imported = import_task(exporter, request, [&](std::string_view text) { progress.detail(text); });
  }
  if (!imported) return std::move(imported).error();
  const Graph& graph = imported->graph;
  ImportOutcome outcome{.task = request.task,
                        .out = request.out,
                        .facts = imported->facts,
                        .aten_nodes = imported->aten_nodes,
                        .nodes = graph.nodes.size(),
                        .seconds = imported->seconds};
  if (console.json) {
    Json json = outcome_json(outcome);
    if (!imported->published.beside.empty() || !imported->published.saved.empty())
      add_place(json, "graph", imported->published, request.out.string());
    console.out << json.dump(2) << '\n';
    return 0;
  }
  console.out << said_of(imported->published, request.out.string())
              << format("{}: {} (from {} of PyTorch's), {} parameters, {:.1f} s\n",
                        place_of(imported->published, request.out.string()),
                        counted(std::ssize(graph.nodes), "node"), imported->aten_nodes,
                        si(static_cast<double>(cost(graph).parameters)), imported->seconds);
  Warnings(console).say_mode(imported->facts);
  return 0;
}

int report(const std::vector<ImportOutcome>& outcomes, double seconds, Console& console) {
  size_t failed = static_cast<size_t>(
      std::ranges::count_if(outcomes, [](const auto& outcome) { return outcome.error.has_value(); }));
  size_t imported = outcomes.size() - failed;
  if (console.json) {
    Json tasks = Json::array();
    for (const ImportOutcome& outcome : outcomes) tasks.push_back(outcome_json(outcome));
    console.out << Json{{"imported", imported}, {"failed", failed}, {"seconds", seconds}, {"tasks", tasks}}
                       .dump(2, ' ', false, Json::error_handler_t::replace)
                << '\n';
    return failed ? 1 : 0;
  }
  if (failed) {
    Table table({{.header = "task", .cut = Cut::start, .least = 30},
                 {.header = "why it failed", .least = 40, .wrap = true}});
    for (const ImportOutcome& outcome : outcomes)
      if (outcome.error) {
        std::string where = outcome.error->where.empty() ? "" : format(" ({})", outcome.error->where);
        table.add_row({outcome.task.string(), outcome.error->message + where});
      }
    console.out << table.render(console.out_terminal) << '\n';
  }
  console.out << format("{} of {} tasks imported in {:.0f} s\n", imported, outcomes.size(), seconds);
  const auto random = std::ranges::count_if(
      outcomes, [](const ImportOutcome& outcome) { return mode_warning(outcome.facts).has_value(); });
  if (random > 0)
    Warnings(console).say(
        format("{} of {} models have random dropout or batch norms that use the batch's statistics; "
               "--eval for inference",
               random, outcomes.size()));
  return failed ? 1 : 0;
}

Result<int> run_import(const ImportOptions& options, Console& console) {
  STITCH_TRY(std::vector<ImportRequest> requests, requests_for(options));
  if (requests.size() == 1 && !options.all)
    return import_one(requests[0], options.task_options.python, console);
  auto begin = std::chrono::steady_clock::now();
  Result<std::vector<ImportOutcome>> outcomes = work_error("", "");
  {
    Progress progress(console.err, console.err_terminal, console.json, "importing", std::ssize(requests));
    outcomes =
        import_all(requests, options.jobs, options.task_options.python, [&](const ImportOutcome& outcome) {
          progress.advance();
          progress.detail(outcome.task.filename().string());
        });
  }
  if (!outcomes) return std::move(outcomes).error();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return report(*outcomes, took.count(), console);
}

}  // namespace

Run add_import(CLI::App& app) {
  const auto import = std::make_shared<ImportOptions>();
  Flags flags(app, "import", "Turn Python models into graphs");
  flags("MODEL", import->paths, "one or more .py files with Model, get_inputs() and get_init_inputs()")
      .required();
  flags("-o,--out", import->out, "FOLDER",
        "the graph folder to write; with several models, the folder that holds theirs");
  flags.task(import->task_options, "the class to import",
             "the Python to use (default: the one that stitchcuda doctor shows)");
  flags("--seed", import->seed, "NUMBER", "seed of weights and inputs (default: 42)");
  flags("--all", import->all, "treat MODEL as folders: import every .py file below them");
  flags("!--no-weights", import->task_options.weights, "write the graph alone, without weights.safetensors");
  flags("--jobs", import->jobs, "NUMBER", "how many models to import at once (default: one per core)")
      .between(0, 1024);
  flags.force(import->force);
  flags.json();
  flags.examples(
      "stitchcuda import model.py -o graph/\n"
      "stitchcuda import model.py --class ResNet --eval -o graph/\n"
      "stitchcuda import --all KernelBench/level1 -o graphs/ --jobs 8");
  return [import](Console& console) { return run_import(*import, console); };
}

}  // namespace stitch
