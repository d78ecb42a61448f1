#include "agents/loop.h"

#include <nlohmann/json.hpp>

#include "agents/replay.h"
#include "base/contained.h"
#include "device/floor.h"
#include "graph/cost.h"

namespace stitch::agents {

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double seconds_of(const verifier::Verdict& verdict, double predicted) {
  return verdict.timing ? verdict.timing->at("program").at("seconds").get<double>() : predicted;
}

Loop::Loop(const Task& task, const plan::Context& context, Brains& brains, const OptimizeOptions& options,
           fs::path scratch, Clock::time_point begin)
    : task_(task),
      context_(context),
      brains_(brains),
      options_(options),
      scratch_(std::move(scratch)),
      begin_(begin),
      floor_(floor_of(task.graph, cost(task.graph), context.gpu).seconds()) {
  ledger_.measured = options.device == runner::Device::cuda && options.timing;
}

Result<Optimized> Loop::run() {
  STITCH_CHECK(take_steps());
  if (kept_.empty()) {
    std::string why = "none was tried";
    for (const LedgerEntry& entry : ledger_.entries)
      if (entry.tries > 0 || entry.no_verdict) why = reason(entry);
    return work_error("optimize", "no program passed the gates: " + why);
  }
  if (options_.tune && options_.strategy != Strategy::first) tune_settings();
  Optimized out;
  STITCH_CHECK(ship(out));
  STITCH_CHECK(publish(out));
  tell(Shipped{out.published.folder, out.verdict});
  out.tuning = std::move(tuning_);
  out.ledger = std::move(ledger_);
  out.floor = floor_;
  out.seconds = seconds_since(begin_);
  return out;
}

double Loop::seconds_left(double share) const {
  const double elapsed = options_.replay ? options_.replay->elapsed() : seconds_since(begin_);
  return share * static_cast<double>(options_.budget.count()) - elapsed;
}

Situation Loop::situation() const {
  return {.task = task_,
          .context = context_,
          .ledger = ledger_,
          .best = best(),
          .plan = plan_ ? &*plan_ : nullptr,
          .seconds_left = seconds_left()};
}

Result<void> Loop::take_steps() {
  bool new_list = false;  // from which nothing came yet
  for (;;) {
    STITCH_TRY(std::optional<Proposal> proposal, propose());
    const Outcome state = state_before(proposal);
    const Circumstances now{.needed = proposal && proposal->needed,
                            .headroom = best() && best()->seconds > floor_ && !spent()};
    switch (route(state, now)) {
      case Action::next_step:
        new_list = false;
        plan_ = proposal->plan;
        not_tried(proposal->left_out, Outcome::left_out);
        not_tried(proposal->not_tried, Outcome::not_tried);
        if (take(*proposal) == Action::ship) return {};
        break;
      case Action::replan:
        if (new_list || !replan()) return {};
        new_list = true;
        break;
      default:
        if (state == Outcome::budget_spent) name_what_was_not_tried(proposal);
        return {};
    }
  }
}

// With a program to ship and no time for another, nobody is asked. A Planner in trouble ends the steps: it is
// an error only if there is nothing to ship.
Result<std::optional<Proposal>> Loop::propose() {
  if (stopped() || (best() && spent())) return std::optional<Proposal>();
  const auto begin = Clock::now();
  auto proposal = contained([&] { return brains_.planner->propose(situation()); });
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
  if (best() && best()->seconds <= options_.target_seconds) return Outcome::target_met;
  if (spent(proposal ? proposal->budget_share : 1)) return Outcome::budget_spent;
  return proposal ? Outcome::ready : Outcome::steps_done;
}

bool Loop::replan() {
  auto replanned = contained([&] { return brains_.planner->replan(situation()); });
  if (!replanned || !*replanned) return false;
  tell(Replanned{});
  return true;
}

void Loop::name_what_was_not_tried(const std::optional<Proposal>& proposal) {
  if (proposal) {
    const double gain = best() ? best()->predicted_seconds - proposal->predicted_seconds : 0;
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
  return format("the budget of {} s was spent", options_.budget.count());
}

// A step is written and judged until it is kept or given up. Whatever goes wrong costs this step and nothing
// else.
Action Loop::take(const Proposal& proposal) {
  const auto begin = Clock::now();
  LedgerEntry entry{.step = proposal.step, .why = proposal.why, .settings = proposal.settings};
  if (best()) {
    entry.before = best()->seconds;
    entry.predicted_gain = best()->predicted_seconds - proposal.predicted_seconds;
  }
  tell(StepStarted{entry.step, entry.why, entry.predicted_gain, &proposal, best() ? &best()->plan : nullptr});
  Circumstances now{.first_trouble = true};
  Result<PackageContents> contents = write(proposal);
  for (;;) {
    Judged judged = contents
                        ? judge(*contents, proposal)
                        : Judged{.outcome = outcome_of(contents.error()), .no_verdict = contents.error()};
    entry.tries += contents ? 1 : 0;
    record(judged, proposal, contents ? &*contents : nullptr, entry);
    now.tries_left = judged.verdict && entry.tries < options_.tries && !spent();
    now.first_trouble = now.first_trouble && contents && !spent();
    Action action = route(entry.outcome, now);
    if (action == Action::revise) {
      if (auto other = revise(proposal, *contents, judged)) {
        contents = *std::move(other);
        continue;
      }
      now.tries_left = false;
      action = route(entry.outcome, now);
    }
    if (action == Action::retry_with_new_reference) {
      now.first_trouble = false;
      if (renew()) continue;
      action = Action::drop;  // there is no new one
    }
    if (action == Action::drop_with_new_reference) renew();
    if (action == Action::commit)
      kept_.push_back({.plan = proposal.plan,
                       .contents = *std::move(contents),
                       .verdict = *std::move(judged.verdict),
                       .judging = proposal.judging,
                       .seconds = entry.after,
                       .predicted_seconds = proposal.predicted_seconds});
    end(std::move(entry), action, begin);
    return action;
  }
}

// What came back, as the ledger keeps it: of several tries, the last one.
void Loop::record(Judged& judged, const Proposal& proposal, const PackageContents* contents,
                  LedgerEntry& entry) const {
  entry.report.reset();
  entry.no_verdict = judged.no_verdict;
  if (judged.verdict) {
    if (const verifier::GateReport* failure = judged.verdict->failure()) {
      entry.report = *failure;
    } else {
      entry.after = seconds_of(*judged.verdict, proposal.predicted_seconds);
      if (best() && entry.after >= best()->seconds) judged.outcome = Outcome::not_better;
    }
  }
  entry.outcome = judged.outcome;
  if (entry.outcome == Outcome::not_tried) entry.note = budget_spent();
  tell(AttemptJudged{entry.step, entry.tries, entry.outcome, judged.verdict ? &*judged.verdict : nullptr,
                     judged.program, contents});
}

Result<PackageContents> Loop::write(const Proposal& proposal) {
  return contained([&]() -> Result<PackageContents> {
    STITCH_CHECK(plan::check(task_.graph, proposal.plan));
    return brains_.coder->write(situation(), proposal);
  });
}

Loop::Judged Loop::judge(const PackageContents& contents, const Proposal& proposal) {
  Judged out{.program = scratch_ / format("program{}", programs_++)};
  auto verdict = contained([&]() -> Result<verifier::Verdict> {
    STITCH_CHECK(write_package(out.program, contents));
    STITCH_TRY(verifier::Verdict given, brains_.verifier->judge(out.program, proposal.judging, [&] {
      return stopped() || cut_short(proposal);
    }));
    require(!given.gates.empty(), "a verdict has gates");
    return given;
  });
  if (!verdict) {
    out.outcome = outcome_of(verdict.error());
    if (out.outcome == Outcome::interrupted && !stopped()) out.outcome = Outcome::not_tried;
    out.no_verdict = std::move(verdict).error();
    return out;
  }
  if (const verifier::GateReport* failure = verdict->failure()) out.outcome = outcome_of(*failure);
  out.verdict = *std::move(verdict);
  return out;
}

std::optional<PackageContents> Loop::revise(const Proposal& proposal, const PackageContents& tried,
                                            const Judged& judged) {
  auto revised = contained([&]() -> Result<std::optional<PackageContents>> {
    STITCH_TRY(Feedback feedback, brains_.verifier->explain(judged.outcome, *judged.verdict));
    Situation now = situation();
    now.tried = &tried;
    now.feedback = &feedback;
    return brains_.coder->revise(now, proposal);
  });
  return revised ? *std::move(revised) : std::nullopt;
}

bool Loop::renew() {
  auto renewed = contained([&] { return brains_.verifier->renew(); });
  if (renewed) tell(ReferenceRenewed{});
  return static_cast<bool>(renewed);
}

void Loop::end(LedgerEntry entry, Action action, Clock::time_point begin) {
  entry.seconds = seconds_since(begin);
  ledger_.entries.push_back(std::move(entry));
  tell(StepEnded{ledger_.entries.back(), action});
}

}  // namespace stitch::agents
