// The list of steps from the plain plan to the best one.
#pragma once

#include <functional>
#include <span>

#include "plan/technique.h"

namespace stitch::plan {

struct StepRule {
  std::string_view name;
  std::string_view why;
  Result<Plan> (*apply)(const Context& context, Plan plan, const Catalogue& catalogue);
  // Reduces precision: whether the numerics class allows it is known only after a full verification.
  bool rounds = false;
  // Changes the last bits within the class: the first suspect after steps that round.
  bool approximates = false;
  // Spends so little of the error budget that it hardly ever fails.
  bool cautious = false;
};
// In the order they are applied.
std::span<const StepRule> all_steps();

// May the step be applied? None that rounds where results must match PyTorch's.
bool is_open(const Context& context, const StepRule& rule);

// Do two regions compute the same nodes in the same way, regardless of what runs concurrently?
bool is_same_work(const Plan& of_one, const Region& one, const Plan& of_other, const Region& other);

// Regions that a step created or changed: nodes, technique, offer, choices, or the storage of their reads and
// writes.
std::vector<std::string> changed_regions(const Plan& before, const Plan& after);

// The plain plan, where every list of steps starts.
Result<Plan> first_plan(const Context& context, const Catalogue& catalogue);
// The plan after every wanted step that changes it, each recorded with its predicted gain.
Result<Plan> plan_of_steps(const Context& context, const Catalogue& catalogue,
                           const std::function<bool(const StepRule&)>& wanted);
// The wanted steps without those predicted to be slower: its estimate is at most that of all wanted steps,
// and that of make_plan's rule applied to them.
struct BestSteps {
  Plan plan;
  std::vector<Step> left_out;  // each with its predicted gain
  double seconds = 0;          // the plan's estimate
};
Result<BestSteps> best_plan_of_steps(const Context& context, const Catalogue& catalogue,
                                     const std::function<bool(const StepRule&)>& wanted);
// The plan after every step that is predicted to gain.
Result<Plan> make_plan(const Context& context, const Catalogue& catalogue);

}  // namespace stitch::plan
