#include <algorithm>
#include <nlohmann/json.hpp>

#include "agents/llm/region_brief.h"
#include "agents/loop/loop.h"
#include "agents/loop/measured_gain.h"
#include "base/contained.h"
#include "base/machine/time_account.h"
#include "base/text.h"
#include "plan/precision/error_budget.h"
#include "verify/measured.h"

namespace stitch::agents {

// A step is written and judged until it is kept or given up. Whatever goes wrong costs this step and nothing
// else.
Action Loop::take(const Proposal& proposal) {
  const auto begin = Clock::now();
  const ModelClock clock(*this, proposal.by_model);
  LedgerEntry entry{.step = proposal.step, .why = proposal.why, .settings = proposal.settings};
  if (best()) {
    entry.before = best()->seconds;
    entry.predicted_gain =
        proposal.predicted_gain.value_or(best()->predicted_seconds - proposal.predicted_seconds);
  }
  tell(StepStarted{entry.step, entry.why, entry.predicted_gain, &proposal, best() ? &best()->plan : nullptr});
  siblings_.clear();
  base_ = -1;
  Circumstances now{.first_trouble = true};
  Result<Draft> draft = write(proposal);
  for (;;) {
    Judged judged = draft ? judge(*draft, proposal)
                          : Judged{.outcome = outcome_of(draft.error()), .no_verdict = draft.error()};
    // A Coder that the budget's end cut short.
    if (!draft && judged.outcome == Outcome::interrupted && !stopped()) judged.outcome = Outcome::not_tried;
    entry.tries += draft ? 1 : 0;
    record(judged, draft ? &*draft : nullptr, proposal, entry);
    if (judged.verdict && draft && draft->author.empty()) learn_rounding(draft->plan, *judged.verdict);
    if (judged.verdict && judged.verdict->passed()) keep_costs(proposal.step, draft->plan, *judged.verdict);
    now.first_trouble = now.first_trouble && draft && !spent();
    now.tries_left = (judged.verdict || entry.outcome == Outcome::no_answer) &&
                     std::ssize(entry.tree) < options_.tries && !spent();
    Action action = route(entry.outcome, now);
    if (action == Action::revise) {
      remember(judged, proposal, entry, draft ? std::make_shared<const Draft>(*draft) : nullptr);
      if (auto other = revise(proposal)) {
        draft = *std::move(other);
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
    if (action == Action::commit && kept_.empty()) say_ready(*judged.verdict);
    const bool slower = judged.verdict && is_slower_than_pytorch(*judged.verdict);
    if (action == Action::commit)
      kept_.push_back({.plan = std::move(draft->plan),
                       .contents = std::move(draft->contents),
                       .verdict = *std::move(judged.verdict),
                       .judging = proposal.judging,
                       .seconds = entry.after,
                       .fat = !entry.note.empty(),
                       .slower = slower,
                       .predicted_seconds = draft->predicted_seconds.value_or(proposal.predicted_seconds)});
    siblings_.clear();
    end(std::move(entry), action, begin);
    return action;
  }
}

// What came back, as the ledger keeps it: of several tries, the last one.
void Loop::record(Judged& judged, const Draft* draft, const Proposal& proposal, LedgerEntry& entry) const {
  entry.report.reset();
  entry.no_verdict = judged.no_verdict;
  double seconds = 0;
  if (judged.verdict) {
    if (const verifier::GateReport* failure = judged.verdict->failure()) {
      entry.report = *failure;
    } else {
      entry.after = seconds = seconds_without_clock(*draft, *judged.verdict, proposal.predicted_seconds);
      verifier::Profile profile = verifier::profile_of(*judged.verdict);
      entry.bottleneck = profile.diagnosis ? name(profile.diagnosis->bottleneck) : "";
      entry.region_seconds = std::move(profile.region_seconds);
      if (best() && !is_better(entry.after, !memory_note(*judged.verdict).empty()))
        judged.outcome = Outcome::not_better;
    }
  }
  entry.outcome = judged.outcome;
  entry.note = entry.outcome == Outcome::not_tried        ? budget_spent()
               : entry.outcome == Outcome::wrong && draft ? rounding_note(draft->plan)
               : judged.verdict                           ? memory_note(*judged.verdict)
                                                          : "";
  entry.tree.push_back({.outcome = entry.outcome,
                        .seconds = seconds,
                        .base = base_,
                        .author = draft                       ? draft->author
                                  : proposal.to_write.empty() ? ""
                                                              : brains_.coder->author(),
                        .why = reason(entry)});
  tell(AttemptJudged{entry.step, entry.tries, entry.outcome, judged.verdict ? &*judged.verdict : nullptr,
                     judged.program, draft ? &draft->contents : nullptr});
}

std::string Loop::memory_note(const verifier::Verdict& verdict) const {
  const verifier::Profile profile = verifier::profile_of(verdict);
  const double own = profile.program_bytes, pytorch = profile.pytorch_bytes;
  if (pytorch <= 0 || own <= options_.memory * pytorch) return {};
  return format("takes {} on the GPU, PyTorch {}", bytes_text(own), bytes_text(pytorch));
}

bool Loop::is_better(double seconds, bool fat) const {
  return fat == best()->fat ? seconds < best()->seconds : best()->fat;
}

// What a program that is off was expected to be off by, and where.
std::string Loop::rounding_note(const plan::Plan& plan) const {
  const std::optional<plan::PlanErrors> errors = plan::errors_of(*context_, plan);
  if (!errors) return {};
  const std::string where = plan::blame(*context_, plan);
  return format("its rounding was expected to take {:.0f} % of the budget{}", 100 * errors->spent(),
                where.empty() ? "" : ", most of it in " + where);
}

// Where its program was off by more than its rounding was expected to be, others are planned for that. What
// is off by much more has another reason.
void Loop::learn_rounding(const plan::Plan& plan, const verifier::Verdict& verdict) {
  constexpr double most = 10, margin = 1.15;
  const std::optional<double> over = verifier::times_over_budget(verdict);
  const std::optional<plan::PlanErrors> expected = plan::errors_of(*context_, plan);
  if (!over || !expected || expected->spent() <= 0) return;
  const double times = margin * *over / expected->spent();
  if (times > most) return;
  plan::ReferenceFacts seen = context_->torch;
  seen.errors = std::make_shared<const plan::MeasuredErrors>(plan::scaled(*seen.errors, times));
  context_ = std::make_unique<plan::Context>(context_->having_seen(std::move(seen)));
}

// Without timing, for a program with user- or LLM-written kernels: as predicted, plus what it launches more
// often than the best one did.
double Loop::seconds_without_clock(const Draft& draft, const verifier::Verdict& verdict,
                                   double predicted) const {
  if (draft.predicted_seconds) return seconds_of(verdict, *draft.predicted_seconds);
  if (verdict.timing || draft.author.empty() || !best()) return seconds_of(verdict, predicted);
  auto launches = [](const verifier::Verdict& of) { return verifier::profile_of(of).launches; };
  return predicted +
         std::max(0.0, launches(verdict) - launches(best()->verdict)) * context_->gpu.kernel_overhead;
}

Result<Draft> Loop::write(const Proposal& proposal) {
  return contained([&]() -> Result<Draft> {
    const SpentOn phase("write the program", TimeAccount::Kind::phase);
    STITCH_CHECK(plan::check(task_.graph, proposal.plan));
    return brains_.coder->write(situation(), proposal);
  });
}

Loop::Judged Loop::judge(const Draft& draft, const Proposal& proposal) {
  Judged out{.program = scratch_ / format("program{}", programs_++)};
  auto verdict = contained([&]() -> Result<verifier::Verdict> {
    STITCH_CHECK(write_package(out.program, draft.contents));
    STITCH_TRY(verifier::Verdict given, elsewhere([&] {
                 return brains_.verifier->judge(out.program, proposal.judging,
                                                [&] { return stopped() || cut_short(proposal); });
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

// In the program that was judged.
std::string Loop::facts_of_written(const Draft& draft, const verifier::Verdict& verdict,
                                   const Proposal& proposal) {
  if (proposal.to_write.empty() || !verdict.passed()) return "";
  const Program program{
      .plan = draft.plan, .contents = {}, .verdict = verdict, .seconds = seconds_of(verdict, 0)};
  Situation now = situation();
  if (program.seconds > 0) now.best = &program;
  std::string out;
  for (const plan::Region& region : draft.plan.regions)
    if (std::ranges::find(proposal.to_write, region.name) != proposal.to_write.end())
      out += facts_of(now, draft.plan, region);
  return out;
}

// A try that did not do, with what the Verifier says of it: the Coder's next one starts from the best of
// them.
void Loop::remember(const Judged& judged, const Proposal& proposal, const LedgerEntry& entry,
                    std::shared_ptr<const Draft> draft) {
  Sibling sibling{.draft = draft, .base = base_, .seconds = entry.tree.back().seconds};
  sibling.feedback = {.outcome = entry.outcome, .report = entry.report, .suggestion = {}};
  if (judged.verdict) {
    const std::string facts = draft ? facts_of_written(*draft, *judged.verdict, proposal) : "";
    auto explained =
        contained([&] { return brains_.verifier->explain(entry.outcome, *judged.verdict, facts); });
    if (explained) sibling.feedback = *std::move(explained);
  } else if (judged.no_verdict) {
    sibling.feedback.suggestion = judged.no_verdict->message;
  }
  siblings_.push_back(std::move(sibling));
}

// The fastest that was right; a regression is no base, unless there is nothing else.
int Loop::base_of_revision() const {
  int out = -1;
  for (int i = 0; i < std::ssize(siblings_); ++i) {
    const Sibling& each = siblings_[static_cast<size_t>(i)];
    if (!each.draft) continue;
    const double fastest = out < 0 ? 0 : siblings_[static_cast<size_t>(out)].seconds;
    if (each.seconds > 0 ? fastest == 0 || each.seconds < fastest : fastest == 0) out = i;
  }
  return out;
}

std::optional<Result<Draft>> Loop::revise(const Proposal& proposal) {
  base_ = base_of_revision();
  if (base_ < 0) return write(proposal);  // nothing was written yet
  auto revised = contained([&] { return brains_.coder->revise(situation(), proposal); });
  if (!revised) {
    const Outcome outcome = outcome_of(revised.error());
    if (outcome == Outcome::no_answer || outcome == Outcome::declined || outcome == Outcome::away)
      return Result<Draft>(revised.error());
    return std::nullopt;
  }
  if (!*revised) return std::nullopt;
  return Result<Draft>(**std::move(revised));
}

Result<verifier::Verdict> Loop::try_out(const Draft& draft, Judging judging) {
  return contained([&]() -> Result<verifier::Verdict> {
    const fs::path program = scratch_ / format("program{}", programs_++);
    STITCH_CHECK(write_package(program, draft.contents));
    return elsewhere([&] {
      return brains_.verifier->judge(program, judging, [&] { return stopped() || (best() && spent()); });
    });
  });
}

Result<Feedback> Loop::explain(const verifier::Verdict& verdict) {
  const verifier::GateReport* failure = verdict.failure();
  return brains_.verifier->explain(failure ? outcome_of(*failure) : Outcome::not_better, verdict, "");
}

void Loop::build_ahead(std::span<const Draft* const> drafts) {
  std::vector<fs::path> programs;
  for (const Draft* draft : drafts) {
    programs.push_back(scratch_ / format("program{}", programs_++));
    if (!write_package(programs.back(), draft->contents)) programs.pop_back();
  }
  elsewhere([&] { brains_.verifier->build_ahead(programs); });
}

bool Loop::renew() {
  auto renewed = contained([&] { return elsewhere([&] { return brains_.verifier->renew(); }); });
  if (renewed) tell(ReferenceRenewed{});
  return static_cast<bool>(renewed);
}

}  // namespace stitch::agents
