// The answers of an LLM Planner: a whole plan document, or steps of small changes to the current plan.
#pragma once

#include "agents/roles.h"
#include "plan/technique.h"

namespace stitch::agents {

// {"plan": …} or {"steps": [{"title", "why", "predicted_gain_seconds", "changes": […]}]}; a change is one of
// {"region", "technique", "arithmetic", "order", "choices"}, {"merge": [names], "name", "technique"},
// {"split": name}, {"write": name, "idea"}.
Json plan_answer_schema();

struct PlanAnswer {
  std::vector<Proposal> proposals;
  std::vector<Json> steps;           // of the answer, one for each proposal; empty of a whole document
  std::vector<std::string> refused;  // steps that can't be made, and why
};
// Each step builds on the legal ones before it. An error only if nothing of it can be used: it says why, for
// the model.
Result<PlanAnswer> proposals_of(const Json& answer, const plan::Context& context, const plan::Plan& base,
                                const plan::Catalogue& catalogue);

// One change of a plan, but {"write"}: its JSON Schema, and the plan with it made.
Json change_schema();
Result<plan::Plan> with_change(const Json& change, const plan::Context& context, plan::Plan plan,
                               const plan::Catalogue& catalogue);

}  // namespace stitch::agents
