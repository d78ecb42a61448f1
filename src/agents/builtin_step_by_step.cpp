// The built-in Planner, step by step: the plain program first, then each step on top of the best so far.
#include "agents/brains.h"
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
                                    .why = "one simple kernel a node: always right",
                                    .plan = std::move(plain),
                                    .predicted_seconds = seconds,
                                    .needed = true});
    }
    while (next_ < plan::all_steps().size()) {
      const plan::StepRule& rule = plan::all_steps()[next_++];
      std::optional<plan::Plan> plan = after(now, rule);
      if (!plan) continue;
      const double seconds = estimated(now, *plan);
      return std::optional(Proposal{.step = std::string(rule.name),
                                    .why = std::string(rule.why),
                                    .plan = *std::move(plan),
                                    .predicted_seconds = seconds,
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
                       estimated(now, from(now)) - estimated(now, *plan)});
    }
    return out;
  }

 private:
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

  size_t next_ = 0;  // of the steps
};

}  // namespace

std::unique_ptr<Planner> step_by_step_planner() { return std::make_unique<StepByStep>(); }

}  // namespace stitch::agents
