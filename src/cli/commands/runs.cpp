#include "cli/commands/runs.h"

#include <nlohmann/json.hpp>

#include "agents/loop/ledger.h"
#include "agents/record/run_history.h"
#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/arguments.h"
#include "cli/commands/commands.h"
#include "cli/commands/optimize/optimize.h"
#include "cli/commands/optimize/optimize_view.h"
#include "cli/pages/page.h"
#include "cli/pages/run_report.h"

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

// Each attempt's sources, plan and verdict as files, for other tools and for inspection.
Result<int> export_run(const RunsCommand& command, const store::RunStore& store, const store::Run& run,
                       Console& console) {
  STITCH_TRY(agents::PastRun past, agents::read_history(store, run));
  const fs::path out = command.out.empty() ? fs::path("run-" + run.id) : fs::path(command.out);
  STITCH_TRY(OutputFolder folder, OutputFolder::create(out, overwrite_if(command.force)));
  STITCH_TRY(Json json, run_document(store, run));
  json["options"] = parse_json(run.start.options) ? *parse_json(run.start.options) : Json();
  auto write = [&](const fs::path& path, const std::string& text) -> Result<void> {
    std::error_code ec;
    fs::create_directories((folder.path() / path).parent_path(), ec);
    return write_file(folder.path() / path, text);
  };
  int number = 0;
  for (size_t i = 0; i < past.steps.size(); ++i) {
    const agents::PastStep& step = past.steps[i];
    const fs::path place = fs::path("steps") / format("{:02}", i);
    if (!step.plan.empty()) {
      STITCH_TRY(std::string plan, store.blob(step.plan));
      STITCH_CHECK(write(place / "plan.json", plan + "\n"));
    }
    for (const agents::PastAttempt& attempt : step.attempts) {
      const fs::path at = place / format("attempt{}-{}", attempt.number, ++number);
      STITCH_TRY(auto sources, sources_of(store, attempt));
      for (const auto& [path, text] : sources) {
        // Paths in the store are untrusted: the file may come from elsewhere.
        if (fs::path(path).is_absolute() || path.find("..") != std::string::npos) continue;
        STITCH_CHECK(write(at / "sources" / path, text));
      }
      if (attempt.verdict.empty()) continue;
      STITCH_TRY(std::string verdict, store.blob(attempt.verdict));
      STITCH_CHECK(write(at / "verdict.json", verdict + "\n"));
    }
  }
  std::string conversation;
  for (const std::string& hash : past.conversation) {
    STITCH_TRY(std::string line, store.blob(hash));
    conversation += line + '\n';
  }
  if (!conversation.empty()) {
    STITCH_TRY(const std::vector<Exchange> all, conversation_of(store, past));
    STITCH_CHECK(write("conversation.jsonl", conversation));
    STITCH_CHECK(write("conversation.md", conversation_markdown(all)));
  }
  STITCH_CHECK(write("run.json", document_text(json)));
  STITCH_TRY(Published published, folder.publish());
  if (console.json) {
    Json said = {{"run", run.id}, {"attempts", number}};
    add_place(said, "folder", published, out.string());
    console.out << document_text(said);
  } else {
    console.out << said_of(published, out.string())
                << format("{}: {} of the run {}\n", place_of(published, out.string()),
                          counted(static_cast<int64_t>(number), "attempt"), run.id);
  }
  return 0;
}

Json json_of(const store::Run& run) {
  return {{"run", run.id},
          {"started", run.started},
          {"task", run.start.task},
          {"state", name(run.state)},
          {"attempts", run.summary.attempts},
          {"steps_kept", run.summary.kept},
          {"seconds_a_call", run.summary.seconds_a_call},
          {"times", run.summary.measured ? "measured" : "estimated"},
          {"seconds", run.summary.elapsed},
          {"gpu", run.start.gpu},
          {"device", run.start.device},
          {"numerics", run.start.numerics},
          {"brains", run.start.brains},
          {"graph", run.start.graph},
          {"version", run.start.version}};
}

Style style_of(store::RunState state) {
  switch (state) {
    case store::RunState::shipped: return Style::good;
    case store::RunState::failed: return Style::bad;
    case store::RunState::running: return Style::bold;
    default: return Style::warning;
  }
}

// "2026-11-16 15:04" of 2026-11-16T15:04:05Z.
std::string minute_of(const std::string& utc) {
  return utc.size() < 16 ? utc : utc.substr(0, 10) + " " + utc.substr(11, 5);
}

std::string a_call(const store::RunSummary& summary) {
  if (summary.seconds_a_call <= 0) return "–";
  return (summary.measured ? "" : "~") + seconds_text(summary.seconds_a_call);
}

std::string machine_of(const store::RunStart& start) {
  return start.gpu + (start.device == "emulated" ? ", emulated" : "");
}

namespace {

Result<Json> stored_document(const store::RunStore& store, const std::string& hash) {
  STITCH_TRY(const std::string text, store.blob(hash));
  return parse_json(text);
}

void show_steps(const agents::PastRun& past, bool measured, Console& console) {
  Table table({{.header = "step", .least = 14},
               {.header = "on top of", .optional = 3},
               {.header = "tries", .align = Column::Align::right},
               {.header = measured ? "measured a call" : "estimated a call", .align = Column::Align::right},
               {.header = "gain", .align = Column::Align::right},
               {.header = measured ? "predicted" : "", .align = Column::Align::right, .optional = 2},
               {.header = ""},
               {.header = "", .least = 20, .wrap = true}});
  for (const agents::PastStep& step : past.steps) {
    const Json entry = step.entry ? *step.entry : Json::object();
    const double before = entry.value("before_seconds", 0.0), after = entry.value("after_seconds", 0.0);
    const std::string outcome = !step.entry              ? "killed"
                                : step.kept              ? "kept"
                                : entry.contains("fate") ? word(entry, "fate")
                                                         : word(entry, "outcome");
    table.add_row({printable(step.name),
                   step.base >= 0 ? printable(past.steps[static_cast<size_t>(step.base)].name) : "",
                   std::to_string(step.attempts.size()),
                   after > 0 ? seconds_text(after) : "–",
                   before > 0 && after > 0 ? format("{:.2f}x", before / after) : "",
                   measured ? gain_text(step.predicted_gain, before) : "",
                   {outcome, step.kept ? Style::good : Style::warning},
                   {printable(step.kept ? step.why : word(entry, "reason")), Style::dim}});
  }
  if (!table.empty()) console.out << '\n' << table.render(console.out_terminal);
}

Result<Json> shown(const store::RunStore& store, const store::Run& run, const agents::PastRun& past,
                   const std::vector<Exchange>& conversation, Detail detail) {
  Json json = json_of(run);
  json.update(to_json(past));
  if (!past.verdict.empty()) {
    STITCH_TRY(json["verdict"], stored_document(store, past.verdict));
    if (std::string bottleneck = bottleneck_of(json["verdict"]); !bottleneck.empty())
      json["bottleneck"] = std::move(bottleneck);
  }
  json["conversation"] = to_json(conversation, detail);
  return json;
}

}  // namespace

Result<Json> run_document(const store::RunStore& store, const store::Run& run) {
  STITCH_TRY(const agents::PastRun past, agents::read_history(store, run));
  STITCH_TRY(const std::vector<Exchange> conversation, conversation_of(store, past));
  STITCH_TRY(Json json, shown(store, run, past, conversation, Detail::messages));
  for (size_t s = 0; s < past.steps.size(); ++s) {
    // The last attempt of the step it stands on is the one that was kept.
    Sources before;
    if (const int base = past.steps[s].base; base >= 0)
      if (const auto& attempts = past.steps[static_cast<size_t>(base)].attempts; !attempts.empty()) {
        STITCH_TRY(before, sources_of(store, attempts.back()));
      }
    for (size_t a = 0; a < past.steps[s].attempts.size(); ++a) {
      const agents::PastAttempt& attempt = past.steps[s].attempts[a];
      Json& out = json["steps"][s]["attempts"][a];
      STITCH_TRY(const Sources after, sources_of(store, attempt));
      out["changes"] = diff_json(before, after);
      if (!attempt.verdict.empty()) {
        STITCH_TRY(out["verdict"], stored_document(store, attempt.verdict));
      }
    }
  }
  return json;
}

Result<int> show_run(const store::RunStore& store, const store::Run& run, Console& console) {
  STITCH_TRY(agents::PastRun past, agents::read_history(store, run));
  STITCH_TRY(const std::vector<Exchange> all, conversation_of(store, past));
  if (console.json) {
    STITCH_TRY(const Json json, shown(store, run, past, all, Detail::figures));
    console.out << document_text(json);
    return 0;
  }
  const Terminal& terminal = console.out_terminal;
  console.out << styled(run.id, Style::bold, terminal) << "  " << printable(run.start.task) << "  "
              << styled(name(run.state), style_of(run.state), terminal) << '\n'
              << format("started {} UTC, took {}, {}; class {}, {}; brains: {}\n", minute_of(run.started),
                        seconds_text(run.summary.elapsed), counted(run.summary.attempts, "attempt"),
                        run.start.numerics, machine_of(run.start), printable(run.start.brains));
  if (run.summary.seconds_a_call > 0) console.out << format("{} a call\n", a_call(run.summary));
  if (!past.program.empty()) console.out << "shipped to " << printable(past.program) << '\n';
  show_steps(past, run.summary.measured, console);
  if (!all.empty()) {
    console.out << '\n' << conversation_table(all, terminal);
    console.out << format("In full: stitchcuda runs page {}\n", run.id);
  }
  for (const auto& [step, why] : past.refused)
    console.out << format("not tried again: {}: {}\n", printable(step), printable(why));
  for (const std::string& warning : past.warnings)
    console.out << styled("warning:", Style::warning, terminal) << ' ' << printable(warning) << '\n';
  if (run.state == store::RunState::killed || run.state == store::RunState::stopped)
    console.out << format("To resume: stitchcuda runs resume {}\n", run.id);
  return 0;
}

}  // namespace stitch
