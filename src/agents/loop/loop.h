// One run of the loop, from the first proposal to the shipped program. The router chooses each action; this
// executes it.
#pragma once

#include "agents/loop/tune.h"
#include "agents/optimize.h"
#include "base/machine/time_account.h"

namespace stitch::agents {

class Loop final : private Workbench {
 public:
  Loop(const Task& task, const plan::Context& context, Brains& brains, const OptimizeOptions& options,
       fs::path scratch, Clock::time_point begin);
  Result<Optimized> run();

 private:
  // The outcome of one try at a step.
  struct Judged {
    Outcome outcome = Outcome::better;
    std::optional<verifier::Verdict> verdict;
    std::optional<Error> no_verdict;
    fs::path program;
  };

  // loop.cpp: steps until the router says ship
  Result<void> take_steps();
  Result<void> model_runs() const;
  Result<std::optional<Proposal>> propose();
  Outcome state_before(const std::optional<Proposal>& proposal) const;
  bool replan();
  void name_what_was_not_tried(const std::optional<Proposal>& proposal);
  void not_tried(const std::vector<plan::Step>& steps, Outcome outcome);

  // loop_step.cpp: the tries of one step
  Action take(const Proposal& proposal);
  Result<Draft> write(const Proposal& proposal);
  Judged judge(const Draft& draft, const Proposal& proposal);
  void record(Judged& judged, const Draft* draft, const Proposal& proposal, LedgerEntry& entry) const;
  // Another draft for the step; nothing: the Coder has no other.
  std::optional<Result<Draft>> revise(const Proposal& proposal);
  void remember(const Judged& judged, const Proposal& proposal, const LedgerEntry& entry,
                std::shared_ptr<const Draft> draft);
  std::string facts_of_written(const Draft& draft, const verifier::Verdict& verdict,
                               const Proposal& proposal);
  int base_of_revision() const;
  std::string rounding_note(const plan::Plan& plan) const;
  void learn_rounding(const plan::Plan& plan, const verifier::Verdict& verdict);
  // What a program takes beyond what it may, in words; empty: nothing, or it was not measured.
  std::string memory_note(const verifier::Verdict& verdict) const;
  // Never more memory for less time.
  bool is_better(double seconds, bool fat) const;
  double seconds_without_clock(const Draft& draft, const verifier::Verdict& verdict, double predicted) const;
  bool renew();
  void keep_costs(const std::string& step, const plan::Plan& plan,
                  const verifier::Verdict& verdict);  // loop_costs.cpp

  // Workbench
  Result<verifier::Verdict> try_out(const Draft& draft, Judging judging) override;
  Result<Feedback> explain(const verifier::Verdict& verdict) override;
  void build_ahead(std::span<const Draft* const> drafts) override;
  void end(LedgerEntry entry, Action action, Clock::time_point begin);

  // loop_tune.cpp: tunes the best program's settings on the GPU
  void tune_settings();
  void skip_tuning(std::string why);
  Tuned search(const std::vector<Tunable>& tunables, LedgerEntry& entry);

  // loop_ship.cpp
  Result<void> ship(Optimized& out);
  Result<PackageContents> contents_of(const Program& program) const;
  bool is_judged_fully(Judging judging) const;
  Result<void> publish(Optimized& out);

  // Measures time spent waiting for builds, runs and the reference, which is not the loop's own.
  template <class Work>
  auto elsewhere(Work&& work) {
    struct Stopwatch {
      double& sum;
      const Clock::time_point begin = Clock::now();
      ~Stopwatch() { sum += seconds_since(begin); }
    } const stopwatch{elsewhere_};
    return work();
  }

  Situation situation();
  const Program* best() const { return kept_.empty() ? nullptr : &kept_.back(); }
  bool past_deadline() const;
  bool stopped() const { return past_deadline() || (options_.should_stop && options_.should_stop()); }
  Error none_passed() const;
  // Twice what was asked for while PyTorch is faster than what there is to ship.
  double budget() const;
  bool is_slower_than_pytorch(const verifier::Verdict& verdict) const;
  // Charged to a budget, since the task was opened: neither its import nor waiting for others is.
  double charged() const;
  double seconds_of_models() const { return model_seconds_ + (model_since_ ? charged() - *model_since_ : 0); }
  double model_seconds_left() const {
    return static_cast<double>(options_.llm_budget.count()) - seconds_of_models();
  }
  bool has_model_budget() const { return options_.llm_budget.count() > 0; }
  // Of the budget for everything else.
  double own_seconds_left(double share = 1) const {
    return share * budget() - (charged() - seconds_of_models());
  }
  // The budget of other steps is spent, that of language models is not.
  bool only_models() const {
    return best() && has_model_budget() && own_seconds_left() <= 0 && model_seconds_left() > 0;
  }
  // Of the budget that the current step is charged to.
  double seconds_left(double share = 1) const {
    return model_since_ ? model_seconds_left() : own_seconds_left(share);
  }
  // Charges what it lives to the budget of language models.
  class ModelClock {
   public:
    ModelClock(Loop& loop, bool on) : loop_(loop), on_(on && loop.has_model_budget()) {
      if (on_) loop_.model_since_ = loop_.charged();
    }
    ~ModelClock() {
      if (on_) loop_.model_seconds_ = loop_.seconds_of_models(), loop_.model_since_.reset();
    }
    ModelClock(const ModelClock&) = delete;
    ModelClock& operator=(const ModelClock&) = delete;

   private:
    Loop& loop_;
    const bool on_;
  };
  bool spent(double share = 1) const { return seconds_left(share) <= 0; }
  // Once there is a program to ship, a step is abandoned when the budget ends.
  bool cut_short(const Proposal& proposal) const { return !proposal.needed && best() && spent(); }
  std::string budget_spent() const;
  void say_ready(const verifier::Verdict& verdict);
  void tell(const Event& event) const {
    if (options_.events) options_.events->on(event);
  }

  const Task& task_;
  std::unique_ptr<const plan::Context> context_;
  Brains& brains_;
  const OptimizeOptions& options_;
  const fs::path scratch_;
  const Clock::time_point begin_;
  const double opened_, waited_before_;  // seconds: the budget is charged from here
  const double floor_;                   // seconds per call
  Ledger ledger_;
  std::vector<Program> kept_;       // each better than the one before it
  std::optional<plan::Plan> plan_;  // proposed last
  PackageContents shipped_;
  std::shared_ptr<const Json> tuning_;
  std::shared_ptr<Json> costs_;        // null: nothing was measured
  std::optional<Proposal> held_;       // proposed, not yet tried
  std::vector<Sibling> siblings_;      // tries of the current step
  int base_ = -1;                      // of the current try
  int without_gain_ = 0;               // consecutive steps without a gain, since the last replanning
  int programs_ = 0;                   // written so far
  double elsewhere_ = 0;               // seconds
  double model_seconds_ = 0;           // of steps that are over
  std::optional<double> model_since_;  // charged() when a language model's step began; nothing: none runs
  bool planner_failed_ = false;        // when it was asked last
  double first_seconds_ = 0;           // from the beginning to the first program that passed
  bool extended_ = false;              // the budget was spent before that
};

// Measured if available, else predicted.
double seconds_of(const verifier::Verdict& verdict, double predicted);

}  // namespace stitch::agents
