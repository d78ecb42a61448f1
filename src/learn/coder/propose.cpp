#include "learn/coder/propose.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "plan/document.h"
#include "plan/estimate.h"
#include "plan/steps.h"

namespace stitch::learn {

namespace {

class LearnedPlanner final : public agents::Planner {
 public:
  LearnedPlanner(std::unique_ptr<agents::Planner> planner, Scorer policy)
      : planner_(std::move(planner)), policy_(std::move(policy)) {}

  Result<std::optional<agents::Proposal>> propose(const agents::Situation& now) override {
    STITCH_TRY(std::optional<agents::Proposal> theirs, planner_->propose(now));
    if (theirs || done_ || !now.best) return theirs;
    done_ = true;
    STITCH_TRY(Proposed proposed, with_learned_choices(now.context, now.best->plan, policy_));
    if (proposed.changed.empty()) return theirs;
    agents::Proposal out{.step = std::string(learned_step),
                         .why = "as the compact Coder would have it",
                         .plan = std::move(proposed.plan),
                         .judging = now.best->judging};
    out.predicted_seconds = plan::estimate(now.context, out.plan);
    return std::optional(std::move(out));
  }

  Result<bool> replan(const agents::Situation& now) override { return planner_->replan(now); }

  std::vector<plan::Step> remaining(const agents::Situation& now) override {
    std::vector<plan::Step> out = planner_->remaining(now);
    if (!done_ && now.best)
      out.push_back({std::string(learned_step), "as the compact Coder would have it", {}, 0});
    return out;
  }

 private:
  std::unique_ptr<agents::Planner> planner_;
  Scorer policy_;
  bool done_ = false;
};

}  // namespace

Result<PolicyFile> load_coder(const fs::path& file) {
  auto read = read_policy(file);
  if (!read) {
    Error error = std::move(read).error();
    error.fix = "give the coder.safetensors that stitchcuda train wrote";
    return error;
  }
  PolicyFile out = *std::move(read);
  auto about = parse_json(out.about);
  const bool known = about && about->is_object() && about->value("stitchcuda_coder", 0) == 1;
  if (!known || about->value("features", 0) != feature_version ||
      out.policy.shape().features() != feature_count())
    return at(file.string(),
              user_error("weights", "these weights were trained for another version's features",
                         "train them again: stitchcuda train"));
  return out;
}

Result<Proposed> with_learned_choices(const plan::Context& context, plan::Plan plan, const Scorer& policy,
                                      double caution) {
  auto task = std::make_shared<PlannedTask>();
  task->graph = context.graph;
  task->gpu = context.gpu;
  task->context = std::make_unique<plan::Context>(task->graph, task->gpu, context.numerics, context.torch);
  task->plan = plan;
  EstimatedTimes times;
  Proposed out{.plan = std::move(plan), .changed = {}};
  for (RegionProblem& problem : problems_of(task)) {
    RegionQuestion question(problem, times, [](auto&&...) { return 0.0; });
    const plan::Region chosen = decide(policy, question, caution);
    plan::Region& region = out.plan.regions[problem.region];
    if (choice_text(chosen) == choice_text(region)) continue;
    const plan::Region before = region;
    region = chosen;
    if (plan::check_whole(context, out.plan))
      out.changed.push_back(region.name);
    else
      region = before;
  }
  return out;
}

std::unique_ptr<agents::Planner> learned_planner(std::unique_ptr<agents::Planner> planner, Scorer policy) {
  return std::make_unique<LearnedPlanner>(std::move(planner), std::move(policy));
}

}  // namespace stitch::learn
