#include "agents/record/remembering_planner.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "agents/loop/measured_gain.h"
#include "agents/record/run_history.h"
#include "code/catalogue.h"
#include "plan/cost/estimate.h"
#include "plan/document/difference.h"
#include "plan/document/document.h"
#include "plan/document/document_names.h"
#include "plan/document/signature.h"
#include "plan/steps.h"

namespace stitch::agents {

namespace {

constexpr std::string_view remembered_step = "remembered";
// A step that failed with several regions in it proves nothing of one of them, until it has happened often.
constexpr int often = 3;

class RememberingPlanner final : public Planner {
 public:
  RememberingPlanner(std::unique_ptr<Planner> planner, Remembering remembering)
      : planner_(std::move(planner)), memory_(*remembering.store), known_(std::move(remembering)) {}

  Result<std::optional<Proposal>> propose(const Situation& now) override {
    if (!asked_) {
      asked_ = true;
      recall_graph(now);
      if (auto proposal = remembered_program(now)) return proposal;
    }
    for (;;) {
      STITCH_TRY(std::optional<Proposal> proposal, planner_->propose(seen_by_planner(now)));
      began_ = true;
      if (!proposal) return proposal;
      if (proposal->needed) {
        without_refused_regions(now, *proposal);
        return proposal;
      }
      std::string why;
      const std::string step = observed_step(proposal->step, proposal->to_write.empty() ? "" : known_.coder);
      if (auto found = refused_.find(step); found != refused_.end())
        why = found->second;
      else
        why = without_refused_regions(now, *proposal);
      if (why.empty()) return proposal;
      if (known_.events) known_.events->on(RefusedBefore{proposal->step, why});
    }
  }

  Result<bool> replan(const Situation& now) override { return planner_->replan(seen_by_planner(now)); }
  std::vector<plan::Step> remaining(const Situation& now) override {
    std::vector<plan::Step> out = planner_->remaining(seen_by_planner(now));
    std::erase_if(out, [&](const plan::Step& step) { return refused_.contains(step.title); });
    return out;
  }

  bool asks_models() const override { return planner_->asks_models(); }

 private:
  // If the remembered program failed, the Planner begins at its beginning.
  Situation seen_by_planner(const Situation& now) const {
    Situation out = now;
    if (!began_ && !now.best) out.plan = nullptr;
    return out;
  }

  // An error of the memory is no knowledge.
  std::vector<store::Observation> recall(store::Scope scope, const std::string& signature,
                                         const Situation& now) const {
    auto found = memory_.recall(scope, signature, known_.machine, std::string(name(now.context.numerics)),
                                known_.until);
    if (!found) return {};
    // What another version refused, this one may do better.
    std::erase_if(*found, [&](const store::Observation& one) {
      return scope != store::Scope::program && one.version != known_.version;
    });
    return *std::move(found);
  }

  void recall_graph(const Situation& now) {
    graph_ = plan::graph_hash(now.context.graph);
    for (const store::Observation& one : recall(store::Scope::step, graph_, now)) {
      if (one.technique == remembered_step) {
        if (is_refusal(one)) refused_programs_.insert(one.knobs);
      } else if (is_refusal(one)) {
        refused_[one.technique] = format("{} ({})", one.why, one.when.substr(0, 10));
      } else if (one.outcome == name(Outcome::better)) {
        refused_.erase(one.technique);  // later than the refusal
      }
    }
  }

  std::optional<Proposal> remembered_program(const Situation& now) const {
    auto programs = recall(store::Scope::program, graph_, now);
    std::erase_if(programs, [&](const store::Observation& one) {
      return refused_programs_.contains(store::blob_hash(one.document)) ||
             one.measured != now.ledger.measured;
    });
    // The fastest; of programs as fast as each other, the last.
    std::ranges::reverse(programs);
    std::ranges::stable_sort(programs, {},
                             [](const store::Observation& one) { return one.after.value_or(1e30); });
    for (const store::Observation& one : programs) {
      auto document = parse_json(one.document);
      if (!document) continue;
      auto plan = plan::read_plan(*document, now.context, code::catalogue());
      if (!plan) continue;  // of a technique that is no longer there
      const double seconds = plan::estimate(now.context, *plan);
      Proposal out{.step = std::string(remembered_step),
                   .why = format("the best program of earlier runs ({})", one.when.substr(0, 10)),
                   .plan = *std::move(plan),
                   .predicted_seconds = seconds,
                   .judging = Judging::as_shipped};
      auto settings = parse_json(one.knobs);
      if (settings && settings->is_object())
        for (const auto& [name, value] : settings->items())
          if (value.is_number_integer()) out.settings[name] = value.get<int64_t>();
      return out;
    }
    return std::nullopt;
  }

  // Why a region should not be made this way; empty: nothing is known against it.
  std::string against(const Situation& now, const plan::Region& region) {
    const std::string technique = technique_of(region), knobs = knobs_of(region);
    std::string why;
    int refusals = 0;
    for (const store::Observation& one :
         recall(store::Scope::region, plan::signature_of(now.context.graph, region), now)) {
      if (one.technique != technique || one.knobs != knobs) continue;
      if (one.outcome == name(Outcome::better)) return "";
      if (!is_refusal(one)) continue;
      // Slower in one program need not be slower in another.
      const bool alone = one.among == 1 && one.outcome != name(Outcome::not_better);
      refusals += alone ? often : 1;
      why = format("{} ({})", one.why, one.when.substr(0, 10));
    }
    return refusals >= often ? why : "";
  }

  // Changes that are known to fail are taken out of the step; why, if nothing is left of it.
  std::string without_refused_regions(const Situation& now, Proposal& proposal) {
    plan::Plan plain;
    if (!now.best) {
      auto first = plan::first_plan(now.context, code::catalogue());
      if (!first) return "";
      plain = *std::move(first);
    }
    const plan::Plan& base = now.best ? now.best->plan : plain;
    std::vector<plan::Change> changes = plan::difference(now.context.graph, base, proposal.plan);
    std::map<std::string, const plan::Region*> regions;
    for (const plan::Region& region : proposal.plan.regions) regions[region.name] = &region;
    std::string why;
    const auto refused = std::erase_if(changes, [&](const plan::Change& change) {
      return std::ranges::any_of(change.after, [&](const std::string& name) {
        auto found = regions.find(name);
        const std::string reason = found == regions.end() ? "" : against(now, *found->second);
        if (!reason.empty()) why = reason;
        return !reason.empty();
      });
    });
    if (refused > 0) {
      if (changes.empty()) return "on regions of this kind: " + why;
      auto rest = plan::take_changes(now.context.graph, base, proposal.plan, changes);
      // Neither part nor whole is known to be bad for certain: the whole it is.
      if (rest && plan::check_whole(now.context, *rest)) {
        rest->steps = proposal.plan.steps;
        proposal.plan = *std::move(rest);
        proposal.predicted_seconds = plan::estimate(now.context, proposal.plan);
        if (now.best) proposal.predicted_gain = predicted_gain(now.context, *now.best, proposal.plan);
        proposal.why +=
            format("; not where it was refused before ({} of {})", refused, refused + changes.size());
      }
    }
    return "";
  }

  std::unique_ptr<Planner> planner_;
  store::Memory memory_;
  const Remembering known_;
  bool asked_ = false, began_ = false;  // for the remembered program; the Planner behind this
  std::string graph_;
  std::map<std::string, std::string> refused_;  // steps of this graph, and why
  std::set<std::string> refused_programs_;      // by the hash of their plan
};

}  // namespace

std::unique_ptr<Planner> remembering_planner(std::unique_ptr<Planner> planner, Remembering remembering) {
  return std::make_unique<RememberingPlanner>(std::move(planner), std::move(remembering));
}

}  // namespace stitch::agents
