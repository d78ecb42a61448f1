#include "cli/pages/run_diff.h"

#include <nlohmann/json.hpp>
#include <set>

#include "agents/record/run_history.h"
#include "base/terminal/table.h"
#include "base/text.h"
#include "cli/commands/runs.h"

namespace stitch {

namespace {

struct Side {
  const store::Run& run;
  agents::PastRun past;
  Sources sources;  // of its best program
};

Result<Side> side_of(const store::RunStore& store, const store::Run& run) {
  STITCH_TRY(agents::PastRun past, agents::read_history(store, run));
  Side out{run, std::move(past), {}};
  if (const int best = best_step(out.past); best >= 0) {
    const auto& attempts = out.past.steps[static_cast<size_t>(best)].attempts;
    if (!attempts.empty()) {
      STITCH_TRY(out.sources, sources_of(store, attempts.back()));
    }
  }
  return out;
}

std::string fate_of(const agents::PastStep& step) {
  if (!step.entry) return "killed";
  const double after = step.entry->value("after_seconds", 0.0);
  return format("{}{}{}", step.kept ? "kept" : word(*step.entry, "outcome"), after > 0 ? ", " : "",
                after > 0 ? seconds_text(after) : "");
}

const agents::PastStep* step_named(const agents::PastRun& run, const std::string& name) {
  for (const agents::PastStep& step : run.steps)
    if (step.name == name) return &step;
  return nullptr;
}

// Names of both runs' steps, the first one's first.
std::vector<std::string> steps_of(const Side& a, const Side& b) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const Side* side : {&a, &b})
    for (const agents::PastStep& step : side->past.steps)
      if (seen.insert(step.name).second) out.push_back(step.name);
  return out;
}

void print(const Side& a, const Side& b, Console& console) {
  const Terminal& terminal = console.out_terminal;
  Table facts({{}, {.header = a.run.id, .least = 12}, {.header = b.run.id, .least = 12}});
  auto row = [&](const char* what, const std::string& left, const std::string& right) {
    facts.add_row({{what, Style::dim},
                   {printable(left), Style::plain},
                   {printable(right), left == right ? Style::dim : Style::bold}});
  };
  row("task", a.run.start.task, b.run.start.task);
  row("state", std::string(name(a.run.state)), std::string(name(b.run.state)));
  row("a call", a_call(a.run.summary), a_call(b.run.summary));
  row("attempts", std::to_string(a.run.summary.attempts), std::to_string(b.run.summary.attempts));
  row("took", seconds_text(a.run.summary.elapsed), seconds_text(b.run.summary.elapsed));
  row("class", a.run.start.numerics, b.run.start.numerics);
  row("GPU", machine_of(a.run.start), machine_of(b.run.start));
  row("brains", a.run.start.brains, b.run.start.brains);
  row("graph", a.run.start.graph.substr(0, 12), b.run.start.graph.substr(0, 12));
  console.out << facts.render(terminal) << '\n';
  Table steps({{.header = "step", .least = 14},
               {.header = a.run.id, .least = 14},
               {.header = b.run.id, .least = 14}});
  for (const std::string& name : steps_of(a, b)) {
    const agents::PastStep *left = step_named(a.past, name), *right = step_named(b.past, name);
    steps.add_row({printable(name), left ? fate_of(*left) : "–", right ? fate_of(*right) : "–"});
  }
  if (!steps.empty()) console.out << steps.render(terminal) << '\n';
  const auto files = diff_sources(a.sources, b.sources);
  if (files.empty())
    console.out << (a.sources.empty() ? "No programs to compare.\n" : "The programs are identical.\n");
  for (const auto& [path, lines] : files) {
    const DiffSize size = size_of(lines);
    console.out << styled(printable(path), Style::bold, terminal)
                << format("  +{} -{}\n", size.added, size.removed);
    for (const DiffLine& line : lines) {
      const Style style = line.kind == DiffLine::Kind::added     ? Style::good
                          : line.kind == DiffLine::Kind::removed ? Style::bad
                          : line.kind == DiffLine::Kind::gap     ? Style::dim
                                                                 : Style::plain;
      console.out << styled(std::string(1, static_cast<char>(line.kind)) + printable(line.text), style,
                            terminal)
                  << '\n';
    }
  }
}

Json compared(const Side& a, const Side& b) {
  Json json = {{"runs", {json_of(a.run), json_of(b.run)}},
               {"steps", Json::array()},
               {"sources", diff_json(a.sources, b.sources)}};
  for (const std::string& name : steps_of(a, b)) {
    Json one = {{"step", name}};
    for (const Side* side : {&a, &b})
      if (const agents::PastStep* step = step_named(side->past, name))
        one[side->run.id] = step->entry ? *step->entry : Json{{"outcome", "killed"}};
    json["steps"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::map<std::string, std::vector<DiffLine>> diff_sources(const Sources& before, const Sources& after) {
  std::map<std::string, std::vector<DiffLine>> out;
  static const std::string nothing;
  auto text = [](const Sources& sources, const std::string& path) -> const std::string& {
    auto found = sources.find(path);
    return found == sources.end() ? nothing : found->second;
  };
  for (const Sources* sources : {&before, &after})
    for (const auto& [path, ignored] : *sources)
      if (!out.contains(path) && text(before, path) != text(after, path))
        out[path] = line_diff(text(before, path), text(after, path));
  return out;
}

Json diff_json(const Sources& before, const Sources& after) {
  Json out = Json::array();
  for (const auto& [path, lines] : diff_sources(before, after)) {
    Json one = {{"path", path}, {"lines", Json::array()}};
    for (const DiffLine& line : lines)
      one["lines"].push_back(std::string(1, static_cast<char>(line.kind)) + line.text);
    out.push_back(std::move(one));
  }
  return out;
}

Result<int> diff_runs(const store::RunStore& store, const store::Run& a, const store::Run& b,
                      Console& console) {
  STITCH_TRY(Side left, side_of(store, a));
  STITCH_TRY(Side right, side_of(store, b));
  if (console.json)
    console.out << document_text(compared(left, right));
  else
    print(left, right, console);
  return 0;
}

}  // namespace stitch
