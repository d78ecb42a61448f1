#include "cli/commands/runs.h"

#include <nlohmann/json.hpp>

#include "agents/loop/ledger.h"
#include "agents/record/run_history.h"
#include "base/terminal/table.h"
#include "base/terminal/wording.h"
#include "base/text.h"
#include "cli/commands/optimize/optimize_summary.h"
#include "cli/pages/run_conversation.h"
#include "cli/pages/run_diff.h"

namespace stitch {

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

}  // namespace

namespace {

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
