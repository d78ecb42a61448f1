#include "cli/commands/optimize/optimize_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
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

}  // namespace stitch
