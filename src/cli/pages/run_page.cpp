#include "cli/pages/run_page.h"

#include <nlohmann/json.hpp>

#include "agents/record/run_history.h"
#include "base/text.h"
#include "cli/pages/html.h"
#include "cli/pages/optimize_page.h"
#include "cli/output_place.h"
#include "cli/pages/run_conversation.h"
#include "cli/pages/run_diff.h"
#include "cli/commands/run_show.h"
#include "verify/verdict.h"

namespace stitch {

extern const std::string_view embedded_run_css;

namespace {

constexpr size_t most_lines = 400;  // of a file's difference

std::string diff_html(const std::vector<DiffLine>& lines) {
  std::string out = "<pre class=\"diff\">";
  for (size_t i = 0; i < lines.size() && i < most_lines; ++i) {
    const DiffLine& line = lines[i];
    const char* look = line.kind == DiffLine::Kind::added     ? "ins"
                       : line.kind == DiffLine::Kind::removed ? "del"
                                                              : "span";
    out += format("<{0}{1}>{2}{3}</{0}>\n", look, line.kind == DiffLine::Kind::gap ? " class=\"gap\"" : "",
                  line.kind == DiffLine::Kind::gap ? '@' : static_cast<char>(line.kind),
                  escaped(printable(line.text)));
  }
  if (lines.size() > most_lines)
    out += format("<span class=\"gap\">@{} more lines: stitchcuda runs export has them</span>\n",
                  lines.size() - most_lines);
  return out + "</pre>";
}

class Page {
 public:
  Page(const store::RunStore& store, const store::Run& run, agents::PastRun past)
      : store_(store), run_(run), past_(std::move(past)) {}

  Result<std::string> html() {
    std::string body = facts();
    body +=
        "<h2>Attempts</h2><p class=\"note\">Each step starts from the best program before it. Kept steps "
        "are the trunk; the others branch off it.</p>\n<ol class=\"tree\">\n";
    for (size_t i = 0; i < past_.steps.size(); ++i) {
      STITCH_TRY(std::string one, step(past_.steps[i]));
      body += one;
    }
    body += "</ol>\n";
    for (const auto& [name, why] : past_.refused)
      body += format("<p class=\"note\">Not tried again: <b>{}</b>: {}</p>\n", escaped(printable(name)),
                     escaped(printable(why)));
    body += ledger();
    STITCH_TRY(std::string rest, final_program());
    body += rest;
    STITCH_TRY(std::string talk, conversation());
    return html_page(format("{} · run {}", run_.start.task, run_.id), body + talk, embedded_run_css);
  }

 private:
  std::string facts() const {
    const store::RunSummary& summary = run_.summary;
    return html_facts({{std::string(name(run_.state)), "started " + minute_of(run_.started) + " UTC"},
                       {a_call(summary), summary.measured ? "per call, measured" : "per call, estimated"},
                       {std::to_string(summary.attempts), "attempts"},
                       {std::to_string(summary.kept), "steps kept"},
                       {seconds_text(summary.elapsed), "at work"},
                       {run_.start.numerics, "numerics class"},
                       {machine_of(run_.start), "GPU"},
                       {run_.start.brains, "brains"}});
  }

  Result<std::string> step(const agents::PastStep& step) {
    const Json entry = step.entry ? *step.entry : Json::object();
    const double before = entry.value("before_seconds", 0.0), after = entry.value("after_seconds", 0.0);
    const std::string fate = !step.entry              ? "killed"
                             : step.kept              ? "kept"
                             : entry.contains("fate") ? word(entry, "fate")
                                                      : word(entry, "outcome");
    std::string figures;
    if (after > 0) figures += " · " + seconds_text(after) + " a call";
    if (before > 0 && after > 0) figures += format(" · {:.2f}x", before / after);
    std::string out = format(
        "<li class=\"{}\"><p class=\"step\"><b>{}</b> <span class=\"{}\">{}</span><span "
        "class=\"soft\">{}</span></p>"
        "<p class=\"soft\">{}</p>\n",
        step.kept ? "kept" : "branch", escaped(printable(step.name)), step.kept ? "good" : "warning",
        escaped(fate), escaped(figures),
        escaped(printable(step.kept ? step.why
                                    : step.why + (word(entry, "reason").empty() ? "" : ": ") +
                                          word(entry, "reason"))));
    for (const agents::PastAttempt& one : step.attempts) {
      STITCH_TRY(std::string text, attempt(step, one));
      out += text;
    }
    return out + "</li>\n";
  }

  // Against the last attempt of the step it stands on: that is the one that was kept.
  Result<Sources> base_of(const agents::PastStep& step) const {
    if (step.base < 0) return Sources{};
    const auto& attempts = past_.steps[static_cast<size_t>(step.base)].attempts;
    if (attempts.empty()) return Sources{};
    return sources_of(store_, attempts.back());
  }

  Result<std::string> attempt(const agents::PastStep& step, const agents::PastAttempt& one) {
    STITCH_TRY(Sources before, base_of(step));
    STITCH_TRY(Sources after, sources_of(store_, one));
    const auto files = diff_sources(before, after);
    DiffSize sum;
    std::string lines;
    for (const auto& [path, diff] : files) {
      const DiffSize size = size_of(diff);
      sum.added += size.added, sum.removed += size.removed;
      lines += format(
          "<details><summary><code>{}</code> <span class=\"soft\">+{} −{}</span></summary>{}</details>\n",
          escaped(printable(path)), size.added, size.removed, diff_html(diff));
    }
    std::string out = format("<details class=\"attempt\"><summary>attempt {} · {} · at {} · {}</summary>\n",
                             one.number, escaped(one.outcome), seconds_text(one.elapsed),
                             files.empty() ? (after.empty() ? "nothing was written" : "same sources")
                                           : format("+{} −{} lines in {} file{}", sum.added, sum.removed,
                                                    files.size(), files.size() == 1 ? "" : "s"));
    if (!one.verdict.empty()) {
      STITCH_TRY(Json verdict, document(one.verdict));
      out += "<h3>Verdict</h3>" + gates(verdict);
    }
    if (!lines.empty())
      out +=
          format("<h3>{}</h3>", before.empty() ? "Sources" : "Changes to the best program before it") + lines;
    return out + "</details>\n";
  }

  static std::string gates(const Json& verdict) {
    std::vector<std::vector<HtmlCell>> rows;
    for (const Json& gate : verdict.value("gates", Json::array())) {
      const std::string summary = word(gate, "summary"), outcome = word(gate, "outcome");
      if (outcome == "skipped" && summary == verifier::not_reached) continue;
      rows.push_back({{word(gate, "gate"), "text"},
                      {outcome, outcome == "passed"   ? "good"
                                : outcome == "failed" ? "bad"
                                                      : ""},
                      {printable(summary), "long"}});
    }
    return html_table({"gate", "result", "evidence"}, rows);
  }

  Result<Json> document(const std::string& hash) const {
    STITCH_TRY(std::string text, store_.blob(hash));
    return parse_json(text);
  }

  std::string ledger() const {
    Json json = {{"times", run_.summary.measured ? "measured" : "estimated"}, {"steps", Json::array()}};
    for (const agents::PastStep& step : past_.steps)
      if (step.entry) json["steps"].push_back(*step.entry);
    return json["steps"].empty() ? "" : ledger_part(json);
  }

  // What it did on the device.
  Result<std::string> final_program() const {
    if (past_.verdict.empty()) return std::string();
    Json run = Json::object();
    STITCH_TRY(run["verdict"], document(past_.verdict));
    return timeline_part(run);
  }

  Result<std::string> conversation() const {
    std::string out = "<h2>Conversation</h2>";
    if (past_.conversation.empty()) return out + "<p class=\"note\">No LLM took part in this run.</p>\n";
    STITCH_TRY(const std::vector<Exchange> all, conversation_of(store_, past_));
    return out + conversation_html(all);
  }

  const store::RunStore& store_;
  const store::Run& run_;
  const agents::PastRun past_;
};

}  // namespace

Result<std::string> run_page(const store::RunStore& store, const store::Run& run) {
  STITCH_TRY(agents::PastRun past, agents::read_history(store, run));
  return Page(store, run, std::move(past)).html();
}

Result<int> write_run_page(const RunsCommand& command, const store::RunStore& store, const store::Run& run,
                           Console& console) {
  const std::string out = command.out.empty() ? format("run-{}.html", run.id) : command.out;
  STITCH_CHECK(check_output_file(out, overwrite_if(command.force)));
  STITCH_TRY(std::string page, run_page(store, run));
  STITCH_CHECK(write_output_file(out, page, overwrite_if(command.force)));
  if (console.json)
    console.out << Json{{"run", run.id}, {"page", out}}.dump(2) << '\n';
  else
    console.out << format("{}: the run {}\n", out, run.id);
  return 0;
}

}  // namespace stitch
