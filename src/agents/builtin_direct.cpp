// The built-in Planner, from the top: every step at once, suspects dropped while that fails. Then, is the
// program better without one of its steps?
#include <algorithm>
#include <set>
#include <utility>

#include "agents/brains.h"
#include "agents/measured_gain.h"
#include "agents/part_of_step.h"
#include "code/catalogue.h"
#include "plan/estimate.h"
#include "plan/steps.h"

namespace stitch::agents {

namespace {

bool same(const plan::Plan& a, const plan::Plan& b) {
  return a.regions.size() == b.regions.size() && plan::changed_regions(a, b).empty();
}

bool changes_results(const plan::Step& step) {
  return std::ranges::any_of(plan::all_steps(), [&](const plan::StepRule& rule) {
    return rule.name == step.title && (rule.rounds || rule.approximates);
  });
}

// Of a plan whose program failed: after wrong results the last step that changes any, else the last one.
std::string suspect(const plan::Plan& plan, bool wrong) {
  for (size_t i = plan.steps.size(); wrong && i-- > 0;)
    if (changes_results(plan.steps[i])) return plan.steps[i].title;
  return plan.steps.back().title;
}

class Direct final : public Planner {
 public:
  explicit Direct(bool first) : first_(first) {}

  Result<std::optional<Proposal>> propose(const Situation& now) override {
    if (!now.plan) {
      STITCH_TRY(plan::BestSteps best, plan_without(now, dropped_));
      plan_ = best.plan;
      Proposal out = proposal("all steps", "the whole plan at once", std::move(best), true);
      return std::optional(std::move(out));
    }
    if (now.best) return better_without_one(now);
    if (plan_.steps.empty()) return std::optional<Proposal>();
    return without_suspects(now);
  }

  // Whether it is better without one of its steps.
  Result<bool> replan(const Situation&) override {
    if (first_ || leaving_out_) return false;
    leaving_out_ = true;
    return true;
  }

  std::vector<plan::Step> remaining(const Situation& now) override {
    std::vector<plan::Step> out;
    if (first_ || !now.best) return out;
    leaving_out_ = true;
    for (;;) {
      auto next = better_without_one(now);
      if (!next || !*next) return out;
      out.push_back({(*next)->step,
                     (*next)->why,
                     {},
                     (*next)->predicted_gain.value_or(estimated(now) - (*next)->predicted_seconds)});
    }
  }

 private:
  Result<std::optional<Proposal>> without_suspects(const Situation& now) {
    const bool late = now.seconds_left <= 0;
    if (!late)
      if (auto part = without_wrong_region(now)) return part;
    const bool wrong = now.ledger.entries.back().outcome == Outcome::wrong;
    const plan::Plan failed = plan_;
    const std::string first = suspect(plan_, wrong);
    plan::BestSteps best;
    if (late && wrong && std::ranges::any_of(failed.steps, changes_results)) return exact_steps(now, first);
    do {
      dropped_.insert(suspect(plan_, wrong));
      STITCH_TRY(best, plan_without(now, dropped_));
      plan_ = best.plan;
      // There must be a program in the end: when time is up, the one that is always right.
    } while (!plan_.steps.empty() && (late || same(plan_, failed)));
    best.left_out.clear();  // said before
    Proposal out =
        proposal(late ? "plain" : "without " + first, "the program with it failed", std::move(best), true);
    for (const plan::Step& step : failed.steps)
      if (late && step.title != first) out.not_tried.push_back(step);
    return std::optional(std::move(out));
  }

  // No time to find the culprit among the steps that change results: what the others do is nearly as sure as
  // the plain program, and not as slow.
  Result<std::optional<Proposal>> exact_steps(const Situation& now, const std::string& failed) {
    for (const plan::StepRule& rule : plan::all_steps())
      if (rule.rounds || rule.approximates) dropped_.insert(std::string(rule.name));
    STITCH_TRY(plan::BestSteps best, plan_without(now, dropped_));
    const plan::Plan before = std::exchange(plan_, best.plan);
    best.left_out.clear();
    Proposal out =
        proposal("exact steps", "the time is up: no step that changes results", std::move(best), true);
    for (const plan::Step& step : before.steps)
      if (changes_results(step) && step.title != failed) out.not_tried.push_back(step);
    return std::optional(std::move(out));
  }

  // The same plan with a region that was wrong alone as the plain plan has it.
  std::optional<Proposal> without_wrong_region(const Situation& now) {
    constexpr int most = 3;
    const std::string region = wrong_region_of(now.ledger);
    if (region.empty() || parts_ >= most) return std::nullopt;
    auto plain = plan::first_plan(now.context, code::catalogue());
    if (!plain) return std::nullopt;
    std::optional<plan::Plan> plan = without_region(now.task.graph, *plain, plan_, region);
    // What it takes along: storage ties whole networks together, and steps are better dropped then.
    constexpr double hopeless = 1.5;
    if (!plan) return std::nullopt;
    const double seconds = plan::estimate(now.context, *plan);
    if (seconds > hopeless * plan::estimate(now.context, plan_)) return std::nullopt;
    ++parts_;
    plan->steps = plan_.steps;
    plan_ = *plan;
    plan::BestSteps best{.plan = *std::move(plan), .left_out = {}, .seconds = seconds};
    return proposal("all steps without " + region, "this region alone is wrong", std::move(best), true);
  }

  Result<std::optional<Proposal>> better_without_one(const Situation& now) {
    constexpr double hopeless = 1.5;
    while (leaving_out_ && !plan_.steps.empty()) {
      const std::string left_out = plan_.steps.back().title;
      plan_.steps.pop_back();
      std::set<std::string> fewer = dropped_;
      fewer.insert(left_out);
      STITCH_TRY(plan::BestSteps best, plan_without(now, fewer));
      // Not without those that it lives by.
      if (same(best.plan, plan_) || best.seconds > hopeless * estimated(now)) continue;
      best.left_out.clear();
      Proposal out =
          proposal("without " + left_out, "is the program better without it?", std::move(best), false);
      out.predicted_gain = predicted_gain(now.context, *now.best, out.plan);
      out.budget_share = 2.0 / 3;  // a third is the tuner's
      return std::optional(std::move(out));
    }
    return std::optional<Proposal>();
  }

  static double estimated(const Situation& now) { return plan::estimate(now.context, now.best->plan); }

  // What is likely to ship is judged once. By other seeds, the same gates may say otherwise of a program at
  // the edge of its budget, when there is nothing left to fall back on.
  static Proposal proposal(std::string step, std::string why, plan::BestSteps best, bool needed) {
    return {.step = std::move(step),
            .why = std::move(why),
            .plan = std::move(best.plan),
            .predicted_seconds = best.seconds,
            .judging = Judging::as_shipped,
            .needed = needed,
            .left_out = std::move(best.left_out)};
  }

  static Result<plan::BestSteps> plan_without(const Situation& now, const std::set<std::string>& dropped) {
    return plan::best_plan_of_steps(now.context, code::catalogue(), [&](const plan::StepRule& rule) {
      return !dropped.contains(std::string(rule.name));
    });
  }

  const bool first_;
  plan::Plan plan_;                // tried last; its steps are those that may still be left out
  std::set<std::string> dropped_;  // because the program with them failed
  bool leaving_out_ = false;
  int parts_ = 0;  // plans without a region that was wrong
};

}  // namespace

std::unique_ptr<Planner> direct_planner(bool first) { return std::make_unique<Direct>(first); }

}  // namespace stitch::agents
