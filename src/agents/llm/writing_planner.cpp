// After another Planner's steps: regions whose code the Coder should write itself, most to gain first.
#include <algorithm>
#include <set>

#include "agents/llm/llm_brains.h"
#include "agents/llm/region_facts.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "plan/cost/estimate.h"
#include "plan/document/edit.h"

namespace stitch::agents {

namespace {

// As if the region reached nine tenths of what the machine can do.
double reachable(const plan::Context& context, const plan::Plan& plan, const plan::Region& region) {
  return plan::floor_of(context, plan, region) / 0.9 + context.gpu.kernel_overhead;
}

class WritingPlanner final : public Planner {
 public:
  WritingPlanner(std::unique_ptr<Planner> inner, int regions, bool whole)
      : inner_(std::move(inner)), left_(whole ? 1 : regions), whole_(whole) {}

  Result<std::optional<Proposal>> propose(const Situation& now) override {
    if (!inner_done_ && (!now.only_models || inner_->asks_models())) {
      auto proposal = inner_->propose(now);
      if (!proposal) {
        // For the ledger. Asked for another list, this one goes on with the Coder's regions.
        inner_done_ = inner_failed_ = now.best != nullptr;
        return proposal;
      }
      if (*proposal) return proposal;
      inner_done_ = !now.only_models;
    }
    if (left_ == 0 || !now.best || unanswered(now)) return std::optional<Proposal>();
    --left_;
    asked_ = true;
    return whole_ ? whole_pass(now) : next_region(now);
  }

  bool asks_models() const override { return true; }

  Result<bool> replan(const Situation& now) override {
    // Another list would take the place of the region that was proposed and not tried yet.
    if (!proposed_.empty() && (now.ledger.entries.empty() || now.ledger.entries.back().step != proposed_))
      return false;
    if (inner_failed_) return left_ > 0 && !asked_;
    STITCH_TRY(bool other, inner_->replan(now));
    inner_done_ = inner_done_ && !other;
    return other;
  }

  std::vector<plan::Step> remaining(const Situation& now) override {
    std::vector<plan::Step> out = inner_done_ ? std::vector<plan::Step>() : inner_->remaining(now);
    if (left_ > 0) out.push_back({"write", "regions that the Coder would have written itself", {}, 0});
    return out;
  }

 private:
  // The Coder's model is not available: another request would only cost time. The Planner's may be another.
  bool unanswered(const Situation& now) const {
    return asked_ && !now.ledger.entries.empty() && now.ledger.entries.back().outcome == Outcome::away;
  }

  Result<std::optional<Proposal>> next_region(const Situation& now) {
    const plan::Plan& plan = now.best->plan;
    std::vector<std::pair<double, const plan::Region*>> by_gain;
    for (const plan::Region& region : plan.regions)
      if (!tried_.contains(region.name) && !region.technique->takes_source())
        by_gain.emplace_back(time_of(now, plan, region).seconds - reachable(now.context, plan, region),
                             &region);
    if (by_gain.empty()) return std::optional<Proposal>();
    std::ranges::stable_sort(by_gain, std::ranges::greater(), &std::pair<double, const plan::Region*>::first);
    const auto [gain, most] = by_gain.front();
    std::vector<std::string> next;
    for (size_t i = 1; i < by_gain.size() && std::ssize(next) < left_; ++i)
      next.push_back(by_gain[i].second->name);
    tried_.insert(most->name);
    proposed_ = "write " + most->name;
    return std::optional(
        Proposal{.step = proposed_,
                 .why = format("{} of a call of {} is above what the GPU can do in it ({})",
                               seconds_text(std::max(gain, 0.0)), seconds_text(now.best->seconds),
                               time_of(now, plan, *most).measured ? "measured" : "estimated"),
                 .plan = plan,
                 .predicted_seconds = std::max(0.0, now.best->predicted_seconds - std::max(gain, 1e-9)),
                 .judging = Judging::wholly,
                 .by_model = true,
                 .to_write = {most->name},
                 .to_write_next = std::move(next)});
  }

  Result<std::optional<Proposal>> whole_pass(const Situation& now) {
    STITCH_TRY(plan::Plan plan,
               plan::as_one_region(now.context, now.best->plan, "forward", code::catalogue()));
    return std::optional(Proposal{.step = "write the whole pass",
                                  .why = "one source for all of it",
                                  .plan = std::move(plan),
                                  .predicted_seconds = now.best->predicted_seconds * 0.999,
                                  .judging = Judging::wholly,
                                  .by_model = true,
                                  .to_write = {"forward"}});
  }

  std::unique_ptr<Planner> inner_;
  int left_;
  bool whole_;
  bool inner_done_ = false, inner_failed_ = false;
  bool asked_ = false;  // for a region
  std::set<std::string> tried_;
  std::string proposed_;  // the last region's step
};

}  // namespace

std::unique_ptr<Planner> writing_planner(std::unique_ptr<Planner> inner, int regions, bool whole) {
  return std::make_unique<WritingPlanner>(std::move(inner), regions, whole);
}

}  // namespace stitch::agents
