#include "cli/commands/runs.h"

#include "cli/commands/commands.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/commands/optimize/optimize.h"
#include "cli/output_place.h"
#include "cli/pages/page.h"
#include "cli/pages/run_diff.h"

namespace stitch {

namespace {

Result<int> list(const RunsCommand& command, store::RunStore& store, Console& console) {
  STITCH_TRY(std::vector<store::Run> runs, store.list());
  const size_t all = runs.size();
  if (command.most > 0 && runs.size() > static_cast<size_t>(command.most))
    runs.resize(static_cast<size_t>(command.most));
  if (console.json) {
    Json json = {{"store", store.file().string()}, {"count", all}, {"runs", Json::array()}};
    for (const store::Run& run : runs) json["runs"].push_back(json_of(run));
    console.out << document_text(json);
    return 0;
  }
  Table table({{.header = "run"},
               {.header = "started (UTC)", .optional = 2},
               {.header = "task", .least = 12},
               {.header = "state"},
               {.header = "attempts", .align = Column::Align::right},
               {.header = "kept", .align = Column::Align::right},
               {.header = "a call", .align = Column::Align::right},
               {.header = "took", .align = Column::Align::right, .optional = 1},
               {.header = "class", .optional = 3},
               {.header = "GPU", .optional = 4}});
  for (const store::Run& run : runs)
    table.add_row({{run.id, Style::bold},
                   minute_of(run.started),
                   printable(run.start.task),
                   {std::string(name(run.state)), style_of(run.state)},
                   std::to_string(run.summary.attempts),
                   std::to_string(run.summary.kept),
                   a_call(run.summary),
                   seconds_text(run.summary.elapsed),
                   {run.start.numerics, Style::dim},
                   {machine_of(run.start), Style::dim}});
  if (runs.empty()) {
    console.out << "No runs yet: stitchcuda optimize records them.\n";
    return 0;
  }
  console.out << table.render(console.out_terminal);
  if (all > runs.size()) console.out << format("{} more: stitchcuda runs list --most 0\n", all - runs.size());
  return 0;
}

Result<int> resume(const RunsCommand& command, const store::Run& run, Console& console) {
  STITCH_CHECK(check_resumable(run));
  STITCH_TRY(OptimizeCommand again, read_command(run.start.options));
  again.store = command.store;
  again.resume = run.id;
  return run_optimize(again, console);
}

Result<int> draw(const RunsCommand& command, const store::RunStore& store, const store::Run& run,
                 Console& console) {
  const std::string out = command.out.empty() ? format("run-{}.html", run.id) : command.out;
  STITCH_CHECK(check_output_file(out, overwrite_if(command.force)));
  STITCH_TRY(const Json document, run_document(store, run));
  STITCH_CHECK(write_output_file(out, page(View::run, document), overwrite_if(command.force)));
  if (console.json)
    console.out << document_text({{"run", run.id}, {"page", out}});
  else
    console.out << format("{}: the run {}\n", out, run.id);
  return 0;
}

Result<int> remove(store::RunStore& store, const store::Run& run, Console& console) {
  STITCH_CHECK(store.remove(run));
  if (console.json)
    console.out << document_text({{"removed", run.id}});
  else
    console.out << format("removed {}\n", run.id);
  return 0;
}

struct Action {
  std::string_view name;
  size_t runs;  // how many it takes
  bool writes = false;
};
constexpr Action actions[] = {{"list", 0},   {"show", 1}, {"diff", 2},        {"resume", 1, true},
                              {"export", 1}, {"page", 1}, {"remove", 1, true}};

Result<const Action*> action_of(const RunsCommand& command) {
  std::vector<std::string> names;
  for (const Action& action : actions) {
    names.emplace_back(action.name);
    if (command.action != action.name) continue;
    if (command.runs.size() == action.runs) return &action;
    return user_error("runs",
                      action.runs == 0   ? "list takes no run id"
                      : action.runs == 1 ? format("{} takes one run", action.name)
                                         : "diff takes two runs",
                      format("stitchcuda runs {}{}", action.name,
                             action.runs == 0   ? ""
                             : action.runs == 1 ? " ID, as runs list shows it"
                                                : " ID ID, as runs list shows them"));
  }
  auto near = nearest(command.action, names);
  return user_error("runs", format("unknown action 'runs {}'", shorten(printable(command.action), 40)),
                    near ? format("did you mean {}?", *near) : "one of: " + join(names, ", "));
}

}  // namespace

fs::path store_file(const std::string& named) {
  const fs::path file = named.empty() ? store::default_store() : fs::path(named);
  return file == "none" ? fs::path() : file;
}

Result<int> run_runs(const RunsCommand& command, Console& console) {
  STITCH_TRY(const Action* action, action_of(command));
  const fs::path file = store_file(command.store);
  if (file.empty())
    return user_error("store_absent", "runs are not recorded: the store is 'none'", "name one with --store");
  STITCH_TRY(store::RunStore store,
             store::RunStore::open(
                 file, action->writes ? store::RunStore::Access::write : store::RunStore::Access::read));
  std::vector<store::Run> runs;
  for (const std::string& id : command.runs) {
    STITCH_TRY(store::Run run, store.find(id));
    runs.push_back(std::move(run));
  }
  if (command.action == "list") return list(command, store, console);
  if (command.action == "show") return show_run(store, runs[0], console);
  if (command.action == "diff") return diff_runs(store, runs[0], runs[1], console);
  if (command.action == "resume") return resume(command, runs[0], console);
  if (command.action == "export") return export_run(command, store, runs[0], console);
  if (command.action == "page") return draw(command, store, runs[0], console);
  return remove(store, runs[0], console);
}

Run add_runs(CLI::App& app) {
  const auto runs = std::make_shared<RunsCommand>();
  Flags flags(app, "runs", "List, show, compare, resume and export runs of optimize");
  flags("ACTION", runs->action, "list, show, diff, resume, export, page or remove").required();
  flags("RUN", runs->runs, "a run's id, or a unique prefix of it");
  flags("-o,--out", runs->out, "PATH",
        "export: the folder to write (default: run-ID); page: the file to write");
  flags("--most", runs->most, "NUMBER", "how many runs to list; 0: all of them (default: 30)")
      .between(0, 1000000);
  flags.store(runs->store);
  flags.force(runs->force);
  flags.json();
  flags.examples(
      "stitchcuda runs list\n"
      "stitchcuda runs show 1116-kmtz\n"
      "stitchcuda runs resume 1116-kmtz\n"
      "stitchcuda runs diff 1116-k 1115-w\n"
      "stitchcuda runs page 1116-kmtz -o run.html");
  return [runs](Console& console) { return run_runs(*runs, console); };
}

}  // namespace stitch
