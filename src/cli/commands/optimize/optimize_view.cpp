#include "cli/commands/optimize/optimize_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/terminal/wording.h"
#include "base/text.h"
#include "graph/numerics.h"
#include "profile/rules.h"
#include "verify/measured.h"

namespace stitch {

namespace {

constexpr size_t most_steps = 8, most_log = 3;

std::string mark(ViewState::Step::Fate fate, bool utf8) {
  switch (fate) {
    case ViewState::Step::Fate::kept: return utf8 ? "✓" : "+";
    case ViewState::Step::Fate::dropped: return utf8 ? "✗" : "-";
    case ViewState::Step::Fate::at_hand: break;
  }
  return utf8 ? "▸" : ">";
}

Style style_of_fate(ViewState::Step::Fate fate) {
  return fate == ViewState::Step::Fate::kept      ? Style::good
         : fate == ViewState::Step::Fate::dropped ? Style::warning
                                                  : Style::bold;
}

std::string step_text(const ViewState::Step& step, int name_width) {
  std::string out =
      step.name + std::string(static_cast<size_t>(std::max(0, name_width - display_width(step.name))), ' ');
  if (step.fate == ViewState::Step::Fate::kept && step.after > 0) {
    out += "  " + seconds_text(step.after);
    if (step.before > 0) out += format("  {:.2f}x", step.before / step.after);
    return out;
  }
  if (step.fate == ViewState::Step::Fate::at_hand && step.attempt > 0)
    out += format("  attempt {}", step.attempt + 1);
  return step.said.empty() ? out : out + "  " + step.said;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(seconds, 0.0));
  return format("{}:{:02}", whole / 60, whole % 60);
}

void take_baselines(ViewState& state, const verifier::Verdict* verdict) {
  const auto timing = verdict ? verifier::timing_of(*verdict) : std::nullopt;
  if (!timing) return;
  for (const auto& [side, seconds] : timing->baselines) {
    std::erase_if(state.baselines, [&](const auto& one) { return one.first == side; });
    state.baselines.emplace_back(side, seconds);
  }
}

}  // namespace

std::vector<std::string> view_lines(const ViewState& state, const Terminal& terminal) {
  std::vector<std::string> out;
  auto add = [&](const std::string& text, Style style, const std::string& before = "  ") {
    const std::string line = shorten(before + printable(text), terminal.width - 1, Cut::end, terminal.utf8);
    out.push_back(styled(line, style, terminal));
  };
  const size_t first = state.steps.size() > most_steps ? state.steps.size() - most_steps : 0;
  if (first > 0) add(format("{} earlier steps", first), Style::dim, "    ");
  int name_width = 0;
  for (size_t i = first; i < state.steps.size(); ++i)
    name_width = std::max(name_width, display_width(printable(state.steps[i].name)));
  for (size_t i = first; i < state.steps.size(); ++i) {
    const ViewState::Step& step = state.steps[i];
    add(step_text(step, name_width), style_of_fate(step.fate), "  " + mark(step.fate, terminal.utf8) + " ");
  }
  std::string sum = format("budget {} of {}, {} attempt{}", clock_text(state.elapsed),
                           clock_text(state.budget), state.attempts, state.attempts == 1 ? "" : "s");
  if (state.best > 0) sum = format("best {} a call, {}", seconds_text(state.best), sum);
  for (const auto& [name, seconds] : state.baselines)
    sum += format(", {} {}{}", name, seconds_text(seconds),
                  state.best > 0 ? format(" ({:.2f}x)", seconds / state.best) : "");
  add(sum, Style::plain);
  for (const std::string& line : state.log) add(line, Style::dim, "    ");
  return out;
}

OptimizeView::OptimizeView(Progress& progress, Warnings& warnings, std::chrono::seconds budget)
    : progress_(progress), warn_(warnings.above(progress)) {
  state_.budget = static_cast<double>(budget.count());
  progress_.show_below([this](const Terminal& terminal) {
    std::lock_guard hold(mutex_);
    look_at_the_clock();
    return view_lines(state_, terminal);
  });
}

void OptimizeView::look_at_the_clock() {
  state_.elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

// The progress line is told outside of the mutex: it holds its own while it asks for these lines.
void OptimizeView::on(const agents::Event& event) {
  {
    std::lock_guard hold(mutex_);
    look_at_the_clock();
    take(event);
  }
  if (auto text = progress_text(event)) progress_.detail(printable(*text));
  if (auto* warning = std::get_if<agents::Warning>(&event)) warn_(warning->text);
  if (auto* notice = std::get_if<agents::Notice>(&event)) progress_.say(notice->text);
}

void OptimizeView::take(const agents::Event& event) {
  using Fate = ViewState::Step::Fate;
  if (auto* started = std::get_if<agents::StepStarted>(&event)) {
    state_.steps.push_back({.name = std::string(started->step), .said = {}});
    has_steps_ = true;
  } else if (auto* judged = std::get_if<agents::AttemptJudged>(&event)) {
    ++state_.attempts;
    if (!state_.steps.empty()) state_.steps.back().attempt = judged->attempt;
    take_baselines(state_, judged->verdict);
  } else if (auto* ended = std::get_if<agents::StepEnded>(&event)) {
    if (state_.steps.empty() || state_.steps.back().fate != Fate::at_hand)
      state_.steps.push_back({.name = ended->entry.step, .said = {}});
    ViewState::Step& step = state_.steps.back();
    step.fate = ended->entry.kept() ? Fate::kept : Fate::dropped;
    step.said = reason(ended->entry);
    step.before = ended->entry.before;
    step.after = ended->entry.after;
    if (ended->entry.kept()) state_.best = ended->entry.after;
  } else if (auto* refused = std::get_if<agents::RefusedBefore>(&event)) {
    state_.log.push_back(format("not tried again: {}: {}", refused->step, refused->why));
  } else if (auto* doing = std::get_if<agents::Doing>(&event)) {
    if (!state_.steps.empty() && state_.steps.back().fate == Fate::at_hand)
      state_.steps.back().said = doing->what;
    if (state_.log.empty() || state_.log.back() != doing->what) state_.log.emplace_back(doing->what);
  }
  while (state_.log.size() > most_log) state_.log.pop_front();
}

namespace {

constexpr size_t most_regions = 5;

// A gate's evidence; null: there is none.
const Json* evidence_of(const Json& verdict, std::string_view gate) {
  if (auto gates = verdict.find("gates"); gates != verdict.end())
    for (const Json& one : *gates)
      if (word(one, "gate") == gate && one.contains("evidence")) return &one["evidence"];
  return nullptr;
}

bool passed(const Json& run) { return word(run.at("verdict"), "verdict") == "passed"; }

}  // namespace

Standing standing_of(const Json& run) {
  Standing out;
  out.own = run.value("seconds_a_call", 0.0);
  const Json& ledger = run.at("ledger");
  out.measured = word(ledger, "times") == "measured";
  const Json timing = run.at("verdict").value("timing", Json::object());
  for (const Json& side : timing.value("baselines", Json::array()))
    if (const double seconds = side.value("seconds", 0.0); seconds > 0)
      out.baselines[word(side, "side")] = seconds;
  out.best_name = word(timing, "best_baseline");
  if (!out.measured && out.baselines.empty()) {
    out.baselines = ledger.value("pytorch_estimated_seconds", std::map<std::string, double>());
    const auto least =
        std::ranges::min_element(out.baselines, {}, [](const auto& each) { return each.second; });
    if (least != out.baselines.end()) out.best_name = least->first;
  }
  if (auto best = out.baselines.find(out.best_name); best != out.baselines.end()) out.best = best->second;
  return out;
}

std::string headline(const Json& run) {
  const Standing now = standing_of(run);
  if (!passed(run)) {
    const std::string gate = word(run.at("verdict"), "gate");
    return format("Failed{}: {}", gate.empty() ? "" : " at " + gate, word(run.at("verdict"), "reason"));
  }
  const std::string gpu = now.measured ? "" : format(", estimated for {}", with_article(word(run, "gpu")));
  if (now.best <= 0) return format("{} per call{}; PyTorch was not timed.", seconds_text(now.own), gpu);
  const auto numerics = parse_numerics(word(run.at("verdict"), "class"));
  const std::string factor = format("{:.2f}", now.over_pytorch());
  std::string out = !now.slower()      ? ""
                    : factor == "1.00" ? "No faster than PyTorch: "
                                       : "Slower than PyTorch: ";
  out += format("{} per call{}{} {}x as fast as the best {} ({}, {})", seconds_text(now.own), gpu,
                now.slower() ? "," : ":", factor, pytorch_in(numerics ? *numerics : Numerics::standard),
                now.best_name, seconds_text(now.best));
  if (auto eager = now.baselines.find("eager"); eager != now.baselines.end() && now.best_name != "eager")
    out += format(", {:.2f}x as fast as eager ({})", eager->second / now.own, seconds_text(eager->second));
  return out + ".";
}

namespace {

// Seconds on the device by region, as the profile gate measured them; empty on the emulated GPU.
std::map<std::string, double> measured_regions(const Json& run) {
  std::map<std::string, double> out;
  const Json* profile = evidence_of(run.at("verdict"), "profile");
  if (!profile) return out;
  if (profile->contains("region_times")) {
    for (const Json& one : (*profile)["region_times"])
      if (const double seconds = one.value("nanoseconds", 0.0) * 1e-9; seconds > 0)
        out[word(one, "name")] = seconds;
    return out;
  }
  // Kernels carry the names of their regions; a library's don't.
  const Json regions = run.value("regions", Json::array());
  for (const Json& kernel : profile->value("kernels", Json::array())) {
    std::string name = word(kernel, "name"), owner;
    for (const Json& region : regions)
      if (std::string one = word(region, "name"); name.find(one) != name.npos && one.size() > owner.size())
        owner = one;
    const double seconds = kernel.value("nanoseconds", 0.0) * 1e-9;
    if (!owner.empty() && seconds > 0) out[owner] += seconds;
  }
  return out;
}

// A line for each of the regions that take most of the time, and for each step that was given up.
std::vector<std::string> why_slower(const Json& run) {
  std::vector<std::string> out;
  const double own = run.value("seconds_a_call", 0.0);
  const std::map<std::string, double> measured = measured_regions(run);
  std::vector<std::pair<double, const Json*>> order;
  const Json regions = run.value("regions", Json::array());
  for (const Json& region : regions)
    if (auto found = measured.find(word(region, "name")); found != measured.end())
      order.emplace_back(found->second, &region);
  std::ranges::sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t i = 0; i < std::min(order.size(), most_regions); ++i) {
    const auto& [seconds, region] = order[i];
    const double expected = region->value("estimated_seconds", 0.0);
    std::string line =
        format("{} ({}): {}", word(*region, "name"), word(*region, "technique"), seconds_text(seconds));
    if (own > 0) line += format(", {:.0f} % of the call", 100 * seconds / own);
    if (expected > 0 && seconds > 1.5 * expected)
      line += format("; the cost model expected {}", seconds_text(expected));
    out.push_back(std::move(line));
  }
  for (const Json& step : run.at("ledger").value("steps", Json::array()))
    if (!step.value("kept", false) && !word(step, "reason").empty())
      out.push_back(format("step not kept: {}: {}", word(step, "step"), word(step, "reason")));
  return out;
}

}  // namespace

std::string bottleneck_of(const Json& verdict) {
  const Json* profile = evidence_of(verdict, "profile");
  if (!profile || !profile->contains("diagnosis")) return "";
  auto diagnosis = profile::diagnosis_from_json((*profile)["diagnosis"]);
  return diagnosis ? profile::text(*diagnosis) : "";
}

void add_summary(Json& run) {
  const Standing now = standing_of(run);
  run["headline"] = headline(run);
  run["pytorch"] = {{"seconds", now.baselines}, {"best", now.best_name}};
  if (now.slower()) run["slower_because"] = why_slower(run);
  if (std::string bottleneck = bottleneck_of(run["verdict"]); !bottleneck.empty())
    run["bottleneck"] = std::move(bottleneck);
  const std::map<std::string, double> measured = measured_regions(run);
  if (run.contains("regions"))
    for (Json& region : run["regions"])
      if (auto found = measured.find(word(region, "name")); found != measured.end())
        region["measured_seconds"] = found->second;
}

std::vector<std::string> next_steps(const Json& run, const SummaryPlaces& places) {
  std::vector<std::string> out;
  const Standing now = standing_of(run);
  if (run.value("stopped", false) && !word(run, "run").empty())
    out.push_back(format("stitchcuda runs resume {}", word(run, "run")));
  if (run.contains("cut_off"))
    out.push_back(format("stitchcuda optimize {} -o {} --budget {}  # to try the steps that were cut off",
                         places.model, places.program, run["cut_off"]["try_budget"].get<int>()));
  if (!passed(run)) {
    out.push_back(
        format("stitchcuda verify {} --task {}  # the whole verdict", places.program, places.model));
    return out;
  }
  if (!now.measured)
    out.push_back(format("on a machine with a GPU: stitchcuda verify {} --task {} --baselines all",
                         places.program, places.model));
  else if (now.slower())
    out.push_back(
        format("stitchcuda profile {} --task {} --html profile.html  # where the time goes, beside PyTorch",
               places.program, places.model));
  else if (now.best <= 0)
    out.push_back(format("stitchcuda verify {} --task {} --baselines all  # against PyTorch", places.program,
                         places.model));
  out.push_back(format("from PyTorch: ModelNew in {}/model_new.py; from C++: {}/README.md", places.program,
                       places.program));
  return out;
}

std::string summary_text(const Json& run, const SummaryPlaces& places, const Terminal& terminal) {
  const Standing now = standing_of(run);
  const Style style = !passed(run) ? Style::bad : now.slower() ? Style::warning : Style::good;
  std::string out = styled(printable(headline(run)), style, terminal) + '\n';
  if (passed(run) && now.slower())
    for (const std::string& line : why_slower(run)) out += "  " + printable(line) + '\n';
  if (std::string gates = word(run, "gates"); passed(run) && !gates.empty())
    out += format("Gates:  {}\n", printable(gates));
  for (const Json& note : run.at("verdict").value("notes", Json::array()))
    out += format("Note:   {}\n", printable(note.get<std::string>()));
  out += format("Report: {}\n", printable(places.report));
  const std::vector<std::string> next = next_steps(run, places);
  for (size_t i = 0; i < next.size(); ++i)
    out += format("{}{}\n", i == 0 ? "Next:   " : "        ", printable(next[i]));
  return out;
}

}  // namespace stitch
