#include "agents/llm/llm_samples.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/contained.h"
#include "base/machine/time_account.h"
#include "base/text.h"
#include "llm/answers/json_answer.h"
#include "verify/measured.h"

namespace stitch::agents {

namespace {

constexpr size_t told = 2;  // of the answers that passed, with their sources

std::string text_of(const RegionAnswer& answer) {
  return answer.changes ? answer.changes->dump(1) : answer.source;
}

}  // namespace

Result<RegionBrief> SampledAnswers::brief(const Situation& now, const Proposal& step,
                                          const std::string& region) const {
  STITCH_TRY(RegionBrief out, brief_of(now, step.plan, region, step, brain_));
  if (auto found = scores_.find(region); found != scores_.end()) out.values["siblings"] += found->second;
  return out;
}

Result<std::map<std::string, SampledAnswers::Asked>> SampledAnswers::ask(
    const Situation& now, const Proposal& step, const std::vector<std::string>& regions,
    std::string_view prompt) const {
  struct Question {
    RegionBrief brief;
    std::string text;
  };
  std::map<std::string, Question> questions;
  std::map<std::string, Asked> out;
  for (const std::string& region : regions) {
    STITCH_TRY(RegionBrief own, brief(now, step, region));
    STITCH_TRY(std::string text, brain_.prompts(prompt, own.values));
    questions[region] = {std::move(own), std::move(text)};
    out[region] = Asked(static_cast<size_t>(brain_.samples), work_error("llm_answer", "not asked"));
  }
  if (brain_.on_progress)
    brain_.on_progress(
        format("{} gives {} answers for each of {}", brain_.author, brain_.samples, join(regions, ", ")));
  {
    // Threads that ask are no phases of their own: their seconds are those of the longest.
    const SpentOn phase("language model: coder", TimeAccount::Kind::phase);
    std::vector<std::jthread> threads;
    for (auto& [region, answers] : out)
      for (Result<RegionAnswer>& answer : answers)
        threads.emplace_back([&now, &step, &answer, &question = questions.at(region), this] {
          answer = contained(
              [&] { return ask_region(now, step.plan, question.brief, brain_, question.text, false); });
        });
  }
  auto key = [](const Result<RegionAnswer>& answer) { return answer ? text_of(*answer) : std::string(); };
  for (auto& [region, answers] : out) std::ranges::stable_sort(answers, {}, key);
  return out;
}

Result<std::vector<SampledAnswers::Scored>> SampledAnswers::judged(const Situation& now, const Proposal& step,
                                                                   const RegionBrief& brief,
                                                                   const Asked& answers) const {
  std::vector<Scored> out;
  std::set<std::string> seen;
  for (const Result<RegionAnswer>& answer : answers) {
    if (!answer || answer->declined || !seen.insert(text_of(*answer)).second) continue;
    DraftOfAnswers made(now, step, brain_.author);
    if (!made.take(brief, *answer)) continue;
    auto draft = std::move(made).finish();
    if (!draft) continue;
    out.push_back({.draft = *std::move(draft), .said = text_of(*answer)});
  }
  if (out.size() < 2 || !now.bench) return out;  // the loop judges it
  std::vector<const Draft*> drafts;
  for (const Scored& each : out) drafts.push_back(&each.draft);
  now.bench->build_ahead(drafts);
  for (Scored& each : out) {
    auto verdict = now.bench->try_out(each.draft);
    if (!verdict) {
      if (verdict.error().code == "stopped") return std::move(verdict).error();
      each.why = verdict.error().message;
    } else if (const verifier::GateReport* failure = verdict->failure()) {
      each.why = failure->gate + ": " + failure->summary;
    } else {
      // Without a clock all that pass are alike, and the first is taken.
      const auto timing = verifier::timing_of(*verdict);
      each.seconds = timing ? timing->seconds : each.draft.predicted_seconds.value_or(step.predicted_seconds);
    }
  }
  auto rank = [](const Scored& each) { return std::pair(each.seconds <= 0, each.seconds); };
  std::ranges::stable_sort(out, {}, rank);
  return out;
}

Result<Draft> SampledAnswers::draft(const Situation& now, const Proposal& step, std::string_view prompt) {
  const std::string& region = step.to_write.front();
  if (!ahead_.contains(region) || !now.siblings.empty()) {
    std::vector<std::string> regions = {region};
    if (now.siblings.empty())
      for (const std::string& next : step.to_write_next)
        if (!ahead_.contains(next)) regions.push_back(next);
    STITCH_TRY(auto answers, ask(now, step, regions, prompt));
    for (auto& [name, each] : answers) ahead_[name] = std::move(each);
  }
  const Asked answers = std::move(ahead_.at(region));
  ahead_.erase(region);
  STITCH_TRY(RegionBrief own, brief(now, step, region));
  STITCH_TRY(std::vector<Scored> scored, judged(now, step, own, answers));
  if (scored.empty()) {
    // Declined, if one said so; else what went wrong with the first.
    for (const Result<RegionAnswer>& answer : answers)
      if (answer && answer->declined)
        return work_error("llm_declined", format("{}: {}", region, *answer->declined));
    for (const Result<RegionAnswer>& answer : answers)
      if (!answer) return answer.error();
    return work_error("llm_answer", "no answer fits the plan");
  }
  std::string scores = format("Of {} answers at once, fastest first:\n", answers.size());
  for (size_t i = 0; i < scored.size(); ++i) {
    const Scored& each = scored[i];
    scores += each.seconds > 0   ? format("- passed, {} a call\n", seconds_text(each.seconds))
              : each.why.empty() ? "- not judged alone\n"
                                 : format("- failed ({})\n", shorten(printable(each.why), 200));
    // The first becomes a try of the step, which is told in full.
    if (i > 0 && i < told && each.seconds > 0) scores += llm::quoted("its answer", each.said);
  }
  scores_[region] += scores;
  return std::move(scored.front().draft);
}

}  // namespace stitch::agents
