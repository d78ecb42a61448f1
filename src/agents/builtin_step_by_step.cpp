// The built-in Planner, step by step: the plain program first, then each step on top of the best so far.
#include "agents/brains.h"
#include "agents/measured_gain.h"
#include "agents/part_of_step.h"
#include "code/catalogue.h"
#include "plan/estimate.h"
#include "plan/steps.h"

namespace stitch::agents {

namespace {

class StepByStep final : public Planner {
 public:
  Result<std::optional<Proposal>> propose(const Situation& now) override {
    if (!now.plan) {
      STITCH_TRY(plan::Plan plain, plan::first_plan(now.context, code::catalogue()));
      const double seconds = estimated(now, plain);
      return std::optional(Proposal{.step = "plain",
                                    .why = "one simple kernel per node: the correct starting point",
                                    .plan = std::move(plain),
                                    .predicted_seconds = seconds,
                                    .needed = true});
    }
    if (auto part = without_wrong_region(now)) return part;
    while (next_ < plan::all_steps().size()) {
      const plan::StepRule& rule = plan::all_steps()[next_++];
      std::optional<plan::Plan> plan = after(now, rule);
      if (!plan) continue;
      const double seconds = estimated(now, *plan);
      const std::optional<double> gain = gain_of(now, *plan);
      return std::optional(Proposal{.step = std::string(rule.name),
                                    .why = std::string(rule.why),
                                    .plan = *std::move(plan),
                                    .predicted_seconds = seconds,
                                    .predicted_gain = gain,
                                    // Judged on every kind of input, as what ships will be.
                                    .judging = rule.rounds ? Judging::wholly : Judging::quickly});
    }
    return std::optional<Proposal>();
  }

  Result<bool> replan(const Situation&) override { return false; }

  std::vector<plan::Step> remaining(const Situation& now) override {
    std::vector<plan::Step> out;
    for (; now.plan && next_ < plan::all_steps().size(); ++next_) {
      const plan::StepRule& rule = plan::all_steps()[next_];
      if (auto plan = after(now, rule))
        out.push_back({std::string(rule.name),
                       std::string(rule.why),
                       {},
                       gain_of(now, *plan).value_or(estimated(now, from(now)) - estimated(now, *plan))});
    }
    return out;
  }

 private:
  // The last step again, for the regions that were right.
  std::optional<Proposal> without_wrong_region(const Situation& now) {
    constexpr int most = 3;
    const std::string region = wrong_region_of(now.ledger);
    if (region.empty() || next_ == 0 || !now.best) return std::nullopt;
    const plan::StepRule& rule = plan::all_steps()[next_ - 1];
    const std::string& last = now.ledger.entries.back().step;
    if (!last.starts_with(rule.name)) return std::nullopt;
    parts_ = last == rule.name ? 1 : parts_ + 1;
    if (parts_ > most) return std::nullopt;
    std::optional<plan::Plan> plan = without_region(now.task.graph, from(now), *now.plan, region);
    if (!plan) return std::nullopt;
    const double seconds = estimated(now, *plan);
    const std::optional<double> gain = gain_of(now, *plan);
    return Proposal{.step = format("{} without {}", last, region),
                    .why = "this region alone is wrong",
                    .plan = *std::move(plan),
                    .predicted_seconds = seconds,
                    .predicted_gain = gain,
                    .judging = rule.rounds ? Judging::wholly : Judging::quickly};
  }

  // Without a program that is right, a step starts from the plan before.
  static const plan::Plan& from(const Situation& now) { return now.best ? now.best->plan : *now.plan; }

  // Nothing where the step changes nothing.
  static std::optional<plan::Plan> after(const Situation& now, const plan::StepRule& rule) {
    if (!plan::is_open(now.context, rule)) return std::nullopt;
    auto next = rule.apply(now.context, from(now), code::catalogue());
    if (!next || plan::changed_regions(from(now), *next).empty()) return std::nullopt;
    return *std::move(next);
  }

  static double estimated(const Situation& now, const plan::Plan& plan) {
    return plan::estimate(now.context, plan);
  }

  static std::optional<double> gain_of(const Situation& now, const plan::Plan& plan) {
    return now.best ? predicted_gain(now.context, *now.best, plan) : std::nullopt;
  }

  size_t next_ = 0;  // of the steps
  int parts_ = 0;    // of the last one that were tried
};

}  // namespace

std::unique_ptr<Planner> step_by_step_planner() { return std::make_unique<StepByStep>(); }

}  // namespace stitch::agents
