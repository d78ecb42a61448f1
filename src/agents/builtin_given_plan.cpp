// A Planner for one given plan.
#include "agents/brains.h"
#include "plan/cost/estimate.h"

namespace stitch::agents {

namespace {

class GivenPlan final : public Planner {
 public:
  explicit GivenPlan(plan::Plan plan) : plan_(std::move(plan)) {}

  Result<std::optional<Proposal>> propose(const Situation& now) override {
    if (now.plan) return std::optional<Proposal>();
    return std::optional(Proposal{.step = "plan",
                                  .why = "as given",
                                  .plan = plan_,
                                  .predicted_seconds = plan::estimate(now.context, plan_),
                                  // There is nothing else that could ship.
                                  .judging = Judging::as_shipped,
                                  .needed = true});
  }

  Result<bool> replan(const Situation&) override { return false; }

  std::vector<plan::Step> remaining(const Situation&) override { return {}; }

 private:
  const plan::Plan plan_;
};

}  // namespace

std::unique_ptr<Planner> given_plan_planner(plan::Plan plan) {
  return std::make_unique<GivenPlan>(std::move(plan));
}

}  // namespace stitch::agents
