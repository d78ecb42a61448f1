#include "agents/loop/loop.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agents/record/recorded_run.h"
#include "base/contained.h"
#include "base/error_codes.h"
#include "base/text.h"
#include "gpu/floor.h"
#include "graph/cost.h"
#include "graph/numerics.h"
#include "verify/measured.h"

namespace stitch::agents {

double seconds_of(const verifier::Verdict& verdict, double predicted) {
  const auto timing = verifier::timing_of(verdict);
  return timing ? timing->seconds : predicted;
}

namespace {

// Why each attempt failed, the last ones where there are many: the plain program may be further off than one
// of its successors.
std::string reasons(const Ledger& ledger) {
  constexpr size_t most = 4;
  std::vector<const LedgerEntry*> tried;
  for (const LedgerEntry& entry : ledger.entries)
    if (entry.tries > 0 || entry.no_verdict) tried.push_back(&entry);
  if (tried.empty()) return "none was tried";
  if (tried.size() > most) tried.erase(tried.begin(), tried.end() - most);
  auto same = [&](const LedgerEntry* entry) { return reason(*entry) == reason(*tried[0]); };
  if (std::ranges::all_of(tried, same)) return reason(*tried[0]);
  std::vector<std::string> out;
  for (const LedgerEntry* entry : tried) out.push_back(format("{}: {}", entry->step, reason(*entry)));
  return join(out, "; ");
}

}  // namespace

Loop::Loop(const Task& task, const plan::Context& context, Brains& brains, const OptimizeOptions& options,
           fs::path scratch, Clock::time_point begin)
    : task_(task),
      context_(std::make_unique<plan::Context>(context)),
      brains_(brains),
      options_(options),
      scratch_(std::move(scratch)),
      begin_(begin),
      opened_(options.replay ? options.replay->elapsed() : seconds_since(begin)),
      waited_before_(TimeAccount::waited_here()),
      floor_(floor_of(task.graph, cost(task.graph), context.gpu).seconds()) {
  ledger_.measured = options.device == runner::Device::cuda && options.timing;
  if (!ledger_.measured)
    ledger_.pytorch = plan::estimate_pytorch(context.graph, context.gpu, context.numerics);
}

Result<Optimized> Loop::run() {
  elsewhere_ = seconds_since(begin_);  // the task was opened, with its reference
  STITCH_CHECK(take_steps());
  if (kept_.empty()) return none_passed();
  if (options_.tune) tune_settings();
  Optimized out;
  STITCH_CHECK(ship(out));
  {
    const SpentOn phase("publish", TimeAccount::Kind::phase);
    STITCH_CHECK(publish(out));
  }
  tell(Shipped{out.published.folder, out.verdict});
  out.tuning = std::move(tuning_);
  out.cost = std::move(costs_);
  out.ledger = std::move(ledger_);
  out.floor = floor_;
  out.seconds = seconds_since(begin_);
  out.first_seconds = first_seconds_;
  out.budget_extended = extended_;
  out.own_seconds = out.seconds - elsewhere_;
  return out;
}

double Loop::charged() const {
  const double elapsed = (options_.replay ? options_.replay->elapsed() : seconds_since(begin_)) - opened_;
  const double waited = TimeAccount::waited_here() - waited_before_;
  return elapsed - waited;
}

double Loop::budget() const {
  return static_cast<double>(options_.budget.count()) * (best() && best()->slower ? 2 : 1);
}

// By the clock of this run, or an earlier one's.
bool Loop::is_slower_than_pytorch(const verifier::Verdict& verdict) const {
  const auto timing = verifier::timing_of(verdict);
  if (!timing) return false;
  return timing->speedup ? *timing->speedup < 1
                         : options_.pytorch_seconds > 0 && timing->seconds > options_.pytorch_seconds;
}

bool Loop::past_deadline() const {
  return options_.deadline.count() > 0 &&
         seconds_since(begin_) > static_cast<double>(options_.deadline.count());
}

Error Loop::none_passed() const {
  if (past_deadline())
    return work_error(
        error_code::stopped,
        format("no program had passed when the deadline of {} s was over", options_.deadline.count()),
        "give it more time, or none: without --deadline the first program is always finished");
  if (stopped())
    return work_error(error_code::stopped, "stopped before a first program had passed",
                      "run the same command again; nothing was written");
  return work_error("optimize", "no program passed the gates: " + reasons(ledger_));
}

// From now on there is something to ship.
void Loop::say_ready(const verifier::Verdict& verdict) {
  first_seconds_ = seconds_since(begin_);
  extended_ = spent();
  const auto timing = verifier::timing_of(verdict);
  std::string speed = timing ? format(", {} a call", seconds_text(timing->seconds)) : "";
  if (timing && timing->speedup)
    speed += format(", {:.2f}x the best {}", *timing->speedup, pytorch_in(context_->numerics));
  tell(Notice{format("A verified program is ready after {:.0f} s{}{}.", first_seconds_, speed,
                     extended_ ? "; the budget was over before that" : "")});
}

Situation Loop::situation() {
  return {.task = task_,
          .context = *context_,
          .ledger = ledger_,
          .best = best(),
          .plan = plan_ ? &*plan_ : nullptr,
          .siblings = siblings_,
          .base = base_of_revision(),
          .bench = this,
          .should_stop = [this] { return stopped() || (best() && spent()); },
          .seconds_left = seconds_left(),
          .only_models = only_models()};
}

Result<void> Loop::take_steps() {
  bool new_list = false;  // from which nothing came yet
  for (;;) {
    STITCH_TRY(std::optional<Proposal> proposal, propose());
    const Outcome state = state_before(proposal);
    const Circumstances now{.needed = proposal && (proposal->needed || !best()),
                            .headroom = best() && best()->seconds > floor_ && (!spent() || only_models()),
                            .stalled = !new_list && without_gain_ >= options_.window};
    switch (route(state, now)) {
      case Action::next_step:
        new_list = false;
        plan_ = proposal->plan;
        not_tried(proposal->left_out, Outcome::left_out);
        not_tried(proposal->not_tried, Outcome::not_tried);
        if (take(*proposal) == Action::ship) return {};
        STITCH_CHECK(model_runs());
        break;
      case Action::replan:
        if (state == Outcome::ready) {
          // A Planner without another list continues with the one it has.
          without_gain_ = 0;
          held_ = replan() ? std::nullopt : std::move(proposal);
          break;
        }
        if (new_list || !replan()) {
          if (spent()) name_what_was_not_tried(proposal);
          return {};
        }
        new_list = true;
        break;
      default:
        if (state == Outcome::budget_spent) name_what_was_not_tried(proposal);
        return {};
    }
  }
}

// What PyTorch itself can't run (an operator that this device has not in bf16) no other program changes.
Result<void> Loop::model_runs() const {
  if (best() || ledger_.entries.empty()) return {};
  const auto& error = ledger_.entries.back().no_verdict;
  if (!error || error->code != error_code::forward) return {};
  return work_error(error_code::forward,
                    "PyTorch itself can't run the model on this device: " + error->message,
                    "use a dtype that PyTorch has this operator for, or another device");
}

// With a program to ship and no time for another, no brain is called. A Planner in trouble ends the steps: it
// is an error only if there is nothing to ship.
Result<std::optional<Proposal>> Loop::propose() {
  const bool only = only_models();
  if (stopped() || (best() && spent() && !only)) return std::optional<Proposal>();
  if (held_) return std::exchange(held_, std::nullopt);
  const auto begin = Clock::now();
  auto proposal = contained([&] {
    const SpentOn phase("plan", TimeAccount::Kind::phase);
    const ModelClock clock(*this, only);
    Situation now = situation();
    now.only_models = only;
    return brains_.planner->propose(now);
  });
  planner_failed_ = !proposal;
  if (proposal || !best()) return proposal;
  end({.step = "plan",
       .why = "the next step",
       .before = best()->seconds,
       .outcome = outcome_of(proposal.error()),
       .no_verdict = proposal.error()},
      Action::drop, begin);
  return std::optional<Proposal>();
}

Outcome Loop::state_before(const std::optional<Proposal>& proposal) const {
  if (stopped()) return Outcome::interrupted;
  if (proposal && proposal->by_model && has_model_budget())
    return model_seconds_left() > 0 ? Outcome::ready : Outcome::budget_spent;
  // After a Planner that failed the Coder is still asked.
  if (!proposal && planner_failed_ && only_models()) return Outcome::steps_done;
  if (spent(proposal ? proposal->budget_share : 1)) return Outcome::budget_spent;
  return proposal ? Outcome::ready : Outcome::steps_done;
}

bool Loop::replan() {
  const bool only = only_models();
  auto replanned = contained([&] {
    const ModelClock clock(*this, only);
    Situation now = situation();
    now.only_models = only;
    return brains_.planner->replan(now);
  });
  if (!replanned || !*replanned) return false;
  without_gain_ = 0;
  tell(Replanned{});
  return true;
}

void Loop::name_what_was_not_tried(const std::optional<Proposal>& proposal) {
  if (proposal) {
    const double gain = proposal->predicted_gain.value_or(
        best() ? best()->predicted_seconds - proposal->predicted_seconds : 0);
    not_tried({{proposal->step, proposal->why, {}, gain}}, Outcome::not_tried);
  }
  auto rest =
      contained([&]() -> Result<std::vector<plan::Step>> { return brains_.planner->remaining(situation()); });
  if (rest) not_tried(*rest, Outcome::not_tried);
}

void Loop::not_tried(const std::vector<plan::Step>& steps, Outcome outcome) {
  for (const plan::Step& step : steps) {
    LedgerEntry entry{
        .step = step.title, .why = step.why, .predicted_gain = step.predicted_gain, .outcome = outcome};
    if (outcome == Outcome::not_tried)
      entry.note = budget_spent();
    else
      entry.note = step.predicted_gain < 0 ? "predicted to be slower" : "predicted to gain nothing";
    end(std::move(entry), Action::drop, Clock::now());
  }
}

std::string Loop::budget_spent() const {
  if (model_since_)
    return format("the budget of {} s for language models was spent", options_.llm_budget.count());
  return format("the budget of {:.0f} s was spent", budget());
}

void Loop::end(LedgerEntry entry, Action action, Clock::time_point begin) {
  if (entry.outcome != Outcome::left_out) without_gain_ = action == Action::commit ? 0 : without_gain_ + 1;
  entry.seconds = seconds_since(begin);
  ledger_.entries.push_back(std::move(entry));
  tell(StepEnded{ledger_.entries.back(), action,
                 action == Action::commit && best() ? &best()->plan : nullptr});
}

}  // namespace stitch::agents
