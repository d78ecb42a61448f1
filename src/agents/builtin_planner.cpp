// The built-in Planner, best first: the whole plan that the cost model thinks best. If its program fails, the
// region that is wrong alone goes back to its plain form, less is rounded, or the plan's steps are halved
// until the culprit is found. A program that passes is improved while the budget lasts.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "agents/brains.h"
#include "agents/loop/alternatives.h"
#include "agents/loop/measured_gain.h"
#include "code/catalogue.h"
#include "plan/cost/estimate.h"
#include "plan/precision/error_budget.h"
#include "plan/steps.h"

namespace stitch::agents {

namespace {

bool same(const plan::Plan& a, const plan::Plan& b) {
  return a.regions.size() == b.regions.size() && plan::changed_regions(a, b).empty();
}

bool changes_results(const std::string& step) {
  return std::ranges::any_of(plan::all_steps(), [&](const plan::StepRule& rule) {
    return rule.name == step && (rule.rounds || rule.approximates);
  });
}

bool passed(Outcome outcome) { return outcome == Outcome::better || outcome == Outcome::not_better; }

class BestFirst final : public Planner {
 public:
  explicit BestFirst(bool measured_ledger) : measured_ledger_(measured_ledger) {}

  Result<std::optional<Proposal>> propose(const Situation& now) override {
    if (!now.plan) return whole_plan(now);
    learn_from_last(now);
    if (!now.best && now.seconds_left > 0)
      if (auto part = without_wrong_region(now)) return part;
    if (!now.best) {
      STITCH_TRY(std::optional<Proposal> cautious, cautious_plan(now));
      if (cautious) return cautious;
      if (now.seconds_left <= 0) return sure_plan(now);
    }
    if (!now.best && !search_ && plan_.steps.empty()) return std::optional<Proposal>();
    STITCH_TRY(std::optional<Proposal> next, search_for_culprit(now));
    if (next) return next;
    if (!now.best) return plain(now);
    if (now.best->fat && !lean_tried_) {
      STITCH_TRY(std::optional<Proposal> lean, lean_plan(now));
      if (lean) return lean;
    }
    if (!alternatives_) alternatives_.emplace();
    if (auto tried = alternatives_->next(now)) return tried;
    return measured_ledger_ ? without_one_step(now) : std::optional<Proposal>();
  }

  Result<bool> replan(const Situation&) override { return false; }

  std::vector<plan::Step> remaining(const Situation& now) override {
    std::vector<plan::Step> out;
    if (search_) out.push_back({"the rest of the plan", "without the step that failed", {}, 0});
    if (now.best && alternatives_) alternatives_->add_untried(out);
    return out;
  }

 private:
  // The steps of a plan that failed. Without any the program is the plain one; with the first `good` of them
  // it passes, with the first `bad` it fails.
  struct Search {
    std::vector<std::string> steps;
    size_t good = 0, bad = 0;
    size_t asked = 0;    // how many the program in question has
    bool wrong = false;  // it failed by its results

    // Every step but the first `kept`: others that would take a step's place are no answer.
    std::set<std::string> all_but(size_t kept) const {
      std::set<std::string> out;
      for (const plan::StepRule& rule : plan::all_steps()) out.insert(std::string(rule.name));
      for (size_t i = 0; i < kept; ++i) out.erase(steps[i]);
      return out;
    }
  };

  Result<std::optional<Proposal>> whole_plan(const Situation& now) {
    STITCH_TRY(plan::BestSteps best, plan_without(now, {}));
    plan_ = best.plan;
    return std::optional(proposal("whole plan", "the best that the cost model knows", std::move(best), true));
  }

  void learn_from_last(const Situation& now) {
    if (now.ledger.entries.empty()) return;
    const Outcome outcome = now.ledger.entries.back().outcome;
    if (!passed(outcome)) failed_.push_back(*now.plan);
    if (!search_) {
      if (!now.best && !plan_.steps.empty()) begin_search(outcome);
      return;
    }
    if (search_->asked == 0) return;
    (passed(outcome) ? search_->good : search_->bad) = search_->asked;
    if (!passed(outcome) && search_->asked == search_->steps.size()) begin_search(outcome);
    search_->asked = 0;
  }

  bool has_failed(const plan::Plan& plan) const {
    return std::ranges::any_of(failed_, [&](const plan::Plan& failed) { return same(failed, plan); });
  }

  // After wrong results the steps that change any are the last ones, and so the first to go.
  void begin_search(Outcome outcome) {
    search_.emplace();
    for (const plan::Step& step : plan_.steps)
      if (!dropped_.contains(step.title)) search_->steps.push_back(step.title);
    if (outcome == Outcome::wrong)
      std::ranges::stable_partition(search_->steps,
                                    [](const std::string& step) { return !changes_results(step); });
    search_->bad = search_->steps.size();
    search_->wrong = outcome == Outcome::wrong;
  }

  // The next half, or everything without the culprit once it is known.
  Result<std::optional<Proposal>> search_for_culprit(const Situation& now) {
    constexpr size_t most_culprits = 3;
    while (search_) {
      Search& search = *search_;
      if (search.bad <= search.good) {
        search_.reset();
        break;
      }
      std::set<std::string> without = dropped_;
      std::string step;
      if (search.bad - search.good > 1) {
        // The last step that changes results is the likely culprit of wrong ones, and the program without it
        // the best.
        search.asked = search.wrong && changes_results(search.steps[search.bad - 1])
                           ? search.bad - 1
                           : (search.good + search.bad) / 2;
        without.merge(search.all_but(search.asked));
        step = format("the first {} of {} steps", search.asked, search.steps.size());
      } else {
        const std::string culprit = search.steps[search.bad - 1];
        if (dropped_.size() >= most_culprits) {
          search_.reset();
          break;
        }
        dropped_.insert(culprit);
        without = dropped_;
        search.steps.erase(search.steps.begin() + static_cast<long>(search.bad - 1));
        search.asked = search.bad = search.steps.size();
        step = "without " + culprit;
      }
      STITCH_TRY(plan::BestSteps best, plan_without(now, without));
      // What isn't faster than the best program is not worth a build.
      const bool known_good = now.best && best.seconds >= plan::estimate(now.context, now.best->plan);
      const bool known_bad = has_failed(best.plan);
      if (known_good || known_bad) {
        (known_bad ? search.bad : search.good) = search.asked;
        continue;
      }
      if (search.asked == search.steps.size()) plan_ = best.plan;
      return std::optional(
          proposal(step, "which step fails?", std::move(best), !now.best || now.best->slower));
    }
    return std::optional<Proposal>();
  }

  // A wrong program may have rounded too much. By how much is known now where roundings were measured; where
  // not, what rounds goes first, and what only changes the last bits next.
  Result<std::optional<Proposal>> cautious_plan(const Situation& now) {
    const int most = now.seconds_left > 0 || now.context.torch.errors ? 2 : 1;
    if (now.ledger.entries.back().outcome != Outcome::wrong) return std::optional<Proposal>();
    while (cautious_ < most) {
      ++cautious_;
      std::set<std::string> without = dropped_;
      for (const plan::StepRule& rule : plan::all_steps())
        if (!now.context.torch.errors && !rule.cautious &&
            (rule.rounds || (rule.approximates && cautious_ > 1)))
          without.insert(std::string(rule.name));
      STITCH_TRY(plan::BestSteps best, plan_without(now, without));
      if (has_failed(best.plan)) continue;
      search_.reset();
      plan_ = best.plan;
      return std::optional(proposal("room to spare", "less rounding than in the program that was wrong",
                                    std::move(best), true));
    }
    return std::optional<Proposal>();
  }

  // No time to find the culprit: what steps that keep results do is nearly as sure as the plain program, and
  // not as slow.
  Result<std::optional<Proposal>> sure_plan(const Situation& now) {
    const bool wrong = now.ledger.entries.back().outcome == Outcome::wrong;
    if (exact_tried_ || !wrong) return plain(now);
    exact_tried_ = true;
    std::set<std::string> without;
    for (const plan::StepRule& rule : plan::all_steps())
      if (rule.rounds || rule.approximates) without.insert(std::string(rule.name));
    STITCH_TRY(plan::BestSteps best, plan_without(now, without));
    Proposal out =
        proposal("exact steps", "the time is up: no step that changes results", std::move(best), true);
    for (const plan::Step& step : plan_.steps)
      if (changes_results(step.title)) out.not_tried.push_back(step);
    return std::optional(std::move(out));
  }

  // The same steps with as little memory as techniques can do with.
  Result<std::optional<Proposal>> lean_plan(const Situation& now) {
    lean_tried_ = true;
    plan::Context lean = now.context;
    lean.lean = true;
    STITCH_TRY(plan::BestSteps best,
               plan::best_plan_of_steps(lean, code::catalogue(), [&](const plan::StepRule& rule) {
                 return !dropped_.contains(std::string(rule.name));
               }));
    if (same(best.plan, now.best->plan) || has_failed(best.plan)) return std::optional<Proposal>();
    best.left_out.clear();
    return std::optional(proposal("lean plan", "no more memory than PyTorch", std::move(best), false));
  }

  // One simple kernel per node: what is always right.
  Result<std::optional<Proposal>> plain(const Situation& now) {
    if (plain_tried_) return std::optional<Proposal>();
    plain_tried_ = true;
    search_.reset();
    STITCH_TRY(plan::Plan first, plan::first_plan(now.context, code::catalogue()));
    plan::BestSteps best{.plan = std::move(first), .left_out = {}, .seconds = 0};
    best.seconds = plan::estimate(now.context, best.plan);
    return std::optional(
        proposal("plain", "one simple kernel per node: what is left", std::move(best), true));
  }

  // The same plan with a region that was wrong alone as the plain plan has it.
  std::optional<Proposal> without_wrong_region(const Situation& now) {
    constexpr int most = 2;
    const std::string region = wrong_region_of(now.ledger.entries.back());
    if (region.empty() || parts_ >= most) return std::nullopt;
    auto plain = plan::first_plan(now.context, code::catalogue());
    if (!plain) return std::nullopt;
    std::optional<plan::Plan> plan = without_region(now.task.graph, *plain, *now.plan, region);
    // What it takes along: storage ties whole networks together, and steps are better dropped then.
    constexpr double hopeless = 1.5;
    if (!plan) return std::nullopt;
    const double seconds = plan::estimate(now.context, *plan);
    if (seconds > hopeless * plan::estimate(now.context, *now.plan)) return std::nullopt;
    ++parts_;
    search_.reset();
    plan->steps = now.plan->steps;
    plan::BestSteps best{.plan = *std::move(plan), .left_out = {}, .seconds = seconds};
    return proposal(format("without {} in the plan", region), "this region alone is wrong", std::move(best),
                    true);
  }

  // --ledger measured: the best program without each of its steps, to see what the step is worth.
  Result<std::optional<Proposal>> without_one_step(const Situation& now) {
    constexpr double hopeless = 1.5;
    if (!measured_) measured_ = plan_.steps;
    while (!measured_->empty()) {
      const std::string step = measured_->back().title;
      measured_->pop_back();
      std::set<std::string> without = dropped_;
      without.insert(step);
      STITCH_TRY(plan::BestSteps best, plan_without(now, without));
      // Not without those that it lives by.
      if (same(best.plan, now.best->plan) ||
          best.seconds > hopeless * plan::estimate(now.context, now.best->plan))
        continue;
      best.left_out.clear();
      Proposal out = proposal("without " + step, "what is this step worth?", std::move(best), false);
      out.predicted_gain = predicted_gain(now.context, *now.best, out.plan);
      return std::optional(std::move(out));
    }
    return std::optional<Proposal>();
  }

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

  Result<plan::BestSteps> plan_without(const Situation& now, const std::set<std::string>& dropped) const {
    STITCH_TRY(plan::BestSteps out,
               plan::best_plan_of_steps(now.context, code::catalogue(), [&](const plan::StepRule& rule) {
                 return !dropped.contains(std::string(rule.name));
               }));
    if (now.plan) out.left_out.clear();  // said before
    return out;
  }

  const bool measured_ledger_;
  plan::Plan plan_;                // the whole one; its steps are the suspects
  std::set<std::string> dropped_;  // culprits
  std::optional<Search> search_;
  std::vector<plan::Plan> failed_;
  std::optional<Alternatives> alternatives_;
  std::optional<std::vector<plan::Step>> measured_;  // still to be left out
  bool exact_tried_ = false, plain_tried_ = false, lean_tried_ = false;
  int cautious_ = 0;  // plans that round less
  int parts_ = 0;     // plans without a region that was wrong
};

}  // namespace

std::unique_ptr<Planner> best_first_planner(bool measured_ledger) {
  return std::make_unique<BestFirst>(measured_ledger);
}

}  // namespace stitch::agents
