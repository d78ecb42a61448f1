// The to-do list: from the plain plan to the best one, a step at a time.
#pragma once

#include <functional>
#include <span>

#include "plan/technique.h"

namespace stitch::plan {

struct StepRule {
  std::string_view name;
  std::string_view why;
  Result<Plan> (*apply)(const Context& context, Plan plan, const Catalogue& catalogue);
  // Values lose bits that a class may forgive: only a whole verification tells whether they may.
  bool rounds = false;
  // Within the class, but not to the last bits: the first suspect after those that round.
  bool approximates = false;
};
// In the order in which they are taken.
std::span<const StepRule> all_steps();

// May it be taken at all? None that rounds where results shall be PyTorch's own.
bool is_open(const Context& context, const StepRule& rule);

// Do two regions compute the same nodes in the same way, whichever run beside them?
bool is_same_work(const Plan& of_one, const Region& one, const Plan& of_other, const Region& other);

// Regions that a step made or changed: nodes, technique, offer, choices, or how what they read and write
// lies.
std::vector<std::string> changed_regions(const Plan& before, const Plan& after);

// The plain plan: where every list of steps begins.
Result<Plan> first_plan(const Context& context, const Catalogue& catalogue);
// The plan after every wanted step that changes something, each recorded with its prediction.
Result<Plan> plan_of_steps(const Context& context, const Catalogue& catalogue,
                           const std::function<bool(const StepRule&)>& wanted);
// The wanted steps, less those that are predicted to lose: no slower, by the estimate, than the plan of every
// wanted step and than make_plan's rule on them.
struct BestSteps {
  Plan plan;
  std::vector<Step> left_out;  // each with its prediction
  double seconds = 0;          // the plan's estimate
};
Result<BestSteps> best_plan_of_steps(const Context& context, const Catalogue& catalogue,
                                     const std::function<bool(const StepRule&)>& wanted);
// The plan after every step that is predicted to gain.
Result<Plan> make_plan(const Context& context, const Catalogue& catalogue);

}  // namespace stitch::plan
