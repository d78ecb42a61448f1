// What a Coder answers for a region: a source, changes of the plan, or that there is nothing to gain.
#pragma once

#include <nlohmann/json.hpp>

#include "agents/llm/region_brief.h"
#include "agents/roles.h"
#include "code/written.h"
#include "llm/answers.h"
#include "plan/technique.h"

namespace stitch::agents {

// The answers of an LLM Planner: a whole plan document, or steps of small changes to the current plan.

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

// From a model's answer to a program, for both styles of the LLM Coder.

Result<Draft> draft_of(const Situation& now, const Proposal& step, plan::Plan plan, std::string author);
// Until the budget ends, or a stop is requested.
llm::AskOptions ask_options(const Situation& now);

struct RegionAnswer {
  std::string source;                   // CUDA, or a graph (code/rewritten.h); empty: one of the others
  std::shared_ptr<const Json> changes;  // {"changes": […]}
  std::optional<std::string> declined;  // why
};

// {"changes": […]}: the ones of llm_plan_answer.h but "write".
Json region_changes_schema();

// The plan with an answer in it.
struct PlanWithAnswer {
  plan::Plan plan;
  std::vector<std::string> refused;  // changes that can't be made, and why: the others are made all the same
};
// An error says, for the model, why nothing of the answer can be used.
Result<PlanWithAnswer> with_answer(const Situation& now, const plan::Plan& plan, const RegionBrief& brief,
                                   const RegionAnswer& answer, const std::string& author);

// Asks, with one repair round or none.
Result<RegionAnswer> ask_region(const Situation& now, const plan::Plan& plan, const RegionBrief& brief,
                                const LlmBrain& brain, std::string prompt, bool repair = true);

// A draft while its regions are answered.
class DraftOfAnswers {
 public:
  DraftOfAnswers(const Situation& now, const Proposal& step, std::string author)
      : now_(now), step_(step), author_(std::move(author)), plan_(step.plan) {}

  const plan::Plan& plan() const { return plan_; }
  // Regions of the step that are still there: one may have become part of another.
  bool has(const std::string& region) const;
  Result<void> take(const RegionBrief& brief, const RegionAnswer& answer);
  // "llm_declined" if every region was declined.
  Result<Draft> finish() &&;

 private:
  const Situation& now_;
  const Proposal& step_;
  const std::string author_;
  plan::Plan plan_;
  bool has_source_ = false, has_cuda_ = false;
  Json changes_;  // an array; null: none
  std::vector<std::string> refused_, declined_;
};

}  // namespace stitch::agents
