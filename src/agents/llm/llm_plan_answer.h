// The answers of an LLM Planner: a whole plan document, or steps of small changes to the current plan.
#pragma once

#include "agents/roles.h"
#include "plan/technique.h"

namespace stitch::agents {

// {"plan": …} or {"steps": [{"title", "why", "predicted_gain_seconds", "changes": […]}]}; a change is one of
// {"region", "technique", "arithmetic", "order", "choices"}, {"merge": [names], "name", "technique"},
// {"split": name}, {"write": name, "idea"}.
Json plan_answer_schema();

// Each step builds on those before it; an error says for the model which step can't be applied.
Result<std::vector<Proposal>> proposals_of(const Json& answer, const plan::Context& context,
                                           const plan::Plan& base, const plan::Catalogue& catalogue);

}  // namespace stitch::agents
