// The Planner that asks a language model for plans. The built-in Planner's steps come first, so that there is
// a program to ship whatever the model says.
#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "agents/llm/llm_session.h"
#include "agents/llm/region_answer.h"
#include "agents/llm/region_brief.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "graph/text.h"
#include "llm/answers.h"
#include "plan/cost/estimate.h"
#include "plan/document/document.h"
#include "plan/document/edit.h"
#include "plan/document/signature.h"

namespace stitch::agents {

namespace {

constexpr int most_lists = 3;

// The graph's text; where it is longer than `limit`, by regions, and of those of one kind only the first with
// its nodes.
std::string graph_text(const Graph& graph, const plan::Plan& plan, size_t limit) {
  std::string out = print_graph(graph);
  if (out.size() <= limit) return out;
  out = "The graph by regions; its full text is too long.\n";
  std::map<std::string, std::string> kinds;  // the first region of each
  for (const plan::Region& region : plan.regions) {
    auto [kind, fresh] = kinds.emplace(plan::signature_of(graph, region), region.name);
    out += region.name + (fresh ? ":\n" : format(": of the same kind as {}\n", kind->second));
    for (int32_t n : region.nodes)
      if (fresh) out += "  " + print_node(graph, graph.node(n)) + "\n";
  }
  return out;
}

class LlmPlanner final : public Planner {
 public:
  LlmPlanner(LlmBrain brain, std::unique_ptr<Planner> builtin)
      : brain_(std::move(brain)), builtin_(std::move(builtin)) {}

  Result<std::optional<Proposal>> propose(const Situation& now) override {
    if (!builtin_done_ && !now.only_models) {
      STITCH_TRY(std::optional<Proposal> proposal, builtin_->propose(now));
      if (proposal) return proposal;
      builtin_done_ = true;
    }
    if (list_.empty() && lists_ == 0 && now.best) STITCH_CHECK(ask(now));
    // On top of the best program: a step that was dropped takes those along that need it, and no others.
    while (!list_.empty() && now.best) {
      const Json next = std::move(list_.front());
      list_.pop_front();
      auto answer = proposals_of(next, now.context, now.best->plan, code::catalogue());
      if (answer && !answer->proposals.empty()) {
        answer->proposals.front().by_model = true;
        return std::optional(std::move(answer->proposals.front()));
      }
      if (!answer) refused_.push_back(answer.error().text());
    }
    return std::optional<Proposal>();
  }

  Result<bool> replan(const Situation& now) override {
    if ((!builtin_done_ && !now.only_models) || !now.best || lists_ >= most_lists) return false;
    STITCH_CHECK(ask(now));
    return !list_.empty();
  }

  std::vector<plan::Step> remaining(const Situation& now) override {
    std::vector<plan::Step> out = builtin_done_ ? std::vector<plan::Step>() : builtin_->remaining(now);
    for (const Json& each : list_)
      if (each.contains("steps")) {
        const Json& step = each["steps"][0];
        out.push_back({shorten(printable(step.at("title").get<std::string>()), 60),
                       shorten(printable(step.at("why").get<std::string>()), 200),
                       {},
                       step.value("predicted_gain_seconds", 0.0)});
      }
    return out;
  }

  bool asks_models() const override { return true; }

 private:
  Result<void> ask(const Situation& now) {
    ++lists_;
    list_.clear();
    const plan::Plan& base = now.best->plan;
    const Json schema = plan_answer_schema();
    auto share = [this](double part) { return share_of_prompt(brain_, part); };
    const verifier::GateReport* profile = now.best->verdict.gate("profile");
    STITCH_TRY(
        std::string prompt,
        brain_.prompts(
            "planner",
            {{"graph",
              llm::quoted("the graph", graph_text(now.context.graph, base, share(0.25)), "", share(0.25))},
             {"plan", llm::quoted_json("the plan of the best program so far",
                                       plan::to_json(now.context, base), share(0.25))},
             {"timeline", profile && profile->evidence
                              ? llm::quoted("its profile", profile->summary) +
                                    llm::quoted_json("evidence", *profile->evidence, share(0.1))
                              : std::string("none\n")},
             {"hardware", hardware_text(now.context.gpu)},
             {"numerics", numerics_text(now.context.numerics)},
             {"catalogue", choices_of(now.context, base, code::catalogue(), share(0.2))},
             {"facts", facts_of(now, base)},
             {"ledger", llm::quoted_json("what was tried", to_json(now.ledger), share(0.1))},
             {"refused", refused_.empty() ? "none\n" : join(refused_, "\n")},
             {"schema", schema.dump(1)},
             // No clock: a conversation that is replayed asks the same.
             {"budget", format("{} more plans may be asked for after this one", most_lists - lists_)}}));
    if (brain_.on_progress) brain_.on_progress(brain_.author + " plans");
    PlanAnswer plans;
    auto holds = [&](const Json& answer) -> Result<void> {
      STITCH_TRY(plans, proposals_of(answer, now.context, base, code::catalogue()));
      return {};
    };
    STITCH_TRY(llm::JsonAnswer answer,
               llm::ask_json(*brain_.chat, {.messages = {llm::user_message(std::move(prompt))}}, schema,
                             ask_options(now), holds));
    if (answer.value->contains("plan")) {
      list_.push_back(*answer.value);
      return {};
    }
    refused_ = std::move(plans.refused);
    for (Json& step : plans.steps) list_.push_back({{"steps", {std::move(step)}}});
    return {};
  }

  LlmBrain brain_;
  std::unique_ptr<Planner> builtin_;
  bool builtin_done_ = false;
  int lists_ = 0;
  std::deque<Json> list_;             // of answers with one step each, checked when they came
  std::vector<std::string> refused_;  // steps of the last answer, and why
};

}  // namespace

std::unique_ptr<Planner> llm_planner(LlmBrain brain, std::unique_ptr<Planner> builtin) {
  return std::make_unique<LlmPlanner>(std::move(brain), std::move(builtin));
}

// After another Planner's steps: regions whose code the Coder should write itself, most to gain first.

namespace {

// As if the region reached nine tenths of what the machine can do.
double reachable(const plan::Context& context, const plan::Plan& plan, const plan::Region& region) {
  return plan::floor_of(context, plan, region) / 0.9 + context.gpu.kernel_overhead;
}

class WritingPlanner final : public Planner {
 public:
  WritingPlanner(std::unique_ptr<Planner> inner, int regions, bool whole, int rounds)
      : inner_(std::move(inner)),
        regions_(regions),
        rounds_(rounds),
        left_(whole ? 1 : regions * rounds),
        whole_(whole) {}

  Result<std::optional<Proposal>> propose(const Situation& now) override {
    if (!inner_done_ && (!now.only_models || inner_->asks_models())) {
      auto proposal = inner_->propose(now);
      if (!proposal) {
        // For the ledger. Asked for another list, this one continues with the Coder's regions.
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
    // What the last step taught: nothing is to be had where the model itself says so.
    if (!now.ledger.entries.empty() && now.ledger.entries.back().step == proposed_ &&
        now.ledger.entries.back().outcome == Outcome::declined)
      rounds_of_[last_] = rounds_;
    std::vector<std::pair<double, const plan::Region*>> by_gain;
    for (const plan::Region& region : plan.regions) {
      const double seconds = time_of(now, plan, region).seconds;
      const double gain = seconds - reachable(now.context, plan, region);
      const auto visited = rounds_of_.find(region.name);
      if (visited == rounds_of_.end()) {
        if (std::ssize(rounds_of_) < regions_ && !region.technique->takes_source())
          by_gain.emplace_back(gain, &region);
      } else if (visited->second < rounds_ && gain > worth_another_round * seconds) {
        by_gain.emplace_back(gain / (1 + visited->second), &region);
      }
    }
    if (by_gain.empty()) return std::optional<Proposal>();
    std::ranges::stable_sort(by_gain, std::ranges::greater(), &std::pair<double, const plan::Region*>::first);
    const auto [gain, most] = by_gain.front();
    std::vector<std::string> next;
    last_ = most->name;
    const int round = ++rounds_of_[last_];
    for (size_t i = 1; i < by_gain.size(); ++i)
      if (const std::string& other = by_gain[i].second->name;
          std::ssize(rounds_of_) + std::ssize(next) < regions_ && !rounds_of_.contains(other))
        next.push_back(other);
    proposed_ = "write " + last_ + (round > 1 ? format(", round {}", round) : "");
    return std::optional(
        Proposal{.step = proposed_,
                 .why = format("{} of a call of {} is above what the GPU can do in it ({})",
                               seconds_text(std::max(gain * round, 0.0)), seconds_text(now.best->seconds),
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

  // Of a region's time: below, it is too near its floor.
  static constexpr double worth_another_round = 0.1;

  std::unique_ptr<Planner> inner_;
  const int regions_, rounds_;
  int left_;
  bool whole_;
  bool inner_done_ = false, inner_failed_ = false;
  bool asked_ = false;                    // for a region
  std::map<std::string, int> rounds_of_;  // by region, those proposed so far
  std::string last_, proposed_;           // the last region, and its step
};

}  // namespace

std::unique_ptr<Planner> writing_planner(std::unique_ptr<Planner> inner, int regions, bool whole,
                                         int rounds) {
  return std::make_unique<WritingPlanner>(std::move(inner), regions, whole, rounds);
}

}  // namespace stitch::agents
