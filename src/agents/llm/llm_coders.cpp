// The Coder as an agent: the same task as for an answer, with tools and a number of turns.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "agents/llm/agent_tools.h"
#include "agents/llm/region_answer.h"
#include "base/contained.h"
#include "base/error_codes.h"
#include "base/machine/time_account.h"
#include "base/text.h"
#include "llm/answers.h"
#include "verify/measured.h"

namespace stitch::agents {

// Several answers for a region instead of one: asked for side by side, for all regions that come next, each
// judged by the quick checks. The fastest that passed is the step's program; the others are told with the
// next question.

class SampledAnswers {
 public:
  explicit SampledAnswers(const LlmBrain& brain) : brain_(brain) {}

  // For a step with one region. `prompt`: the template's name.
  Result<Draft> draft(const Situation& now, const Proposal& step, std::string_view prompt);

 private:
  struct Scored {
    Draft draft;
    std::string said;    // the source, or the changes
    double seconds = 0;  // 0: it failed
    std::string why;     // it failed
  };
  using Asked = std::vector<Result<RegionAnswer>>;

  Result<RegionBrief> brief(const Situation& now, const Proposal& step, const std::string& region) const;
  // Answers for these regions, `samples` each, at the same time. Sorted, so that the order in which they came
  // doesn't matter.
  Result<std::map<std::string, Asked>> ask(const Situation& now, const Proposal& step,
                                           const std::vector<std::string>& regions,
                                           std::string_view prompt) const;
  Result<std::vector<Scored>> judged(const Situation& now, const Proposal& step, const RegionBrief& brief,
                                     const Asked& answers) const;

  const LlmBrain& brain_;
  std::map<std::string, Asked> ahead_;         // of regions that were asked for with an earlier one
  std::map<std::string, std::string> scores_;  // by region: what became of its answers so far
};

namespace {

class LlmAgentCoder final : public Coder {
 public:
  explicit LlmAgentCoder(LlmBrain brain) : brain_(std::move(brain)) {}

  Result<Draft> write(const Situation& now, const Proposal& step) override {
    if (step.to_write.empty()) return builtin_->write(now, step);
    earlier_.clear();
    return draft(now, step);
  }

  Result<std::optional<Draft>> revise(const Situation& now, const Proposal& step) override {
    if (step.to_write.empty()) return builtin_->revise(now, step);
    STITCH_TRY(Draft out, draft(now, step));
    return std::optional(std::move(out));
  }

  std::string author() const override { return brain_.author; }

 private:
  // What was said of a region in this step, and the files it came to.
  struct Conversation {
    std::vector<llm::Message> messages;
    std::map<std::string, std::string> files;
  };

  Result<Draft> draft(const Situation& now, const Proposal& step) {
    DraftOfAnswers out(now, step, brain_.author);
    for (const std::string& region : step.to_write) {
      if (&region != &step.to_write.front() && !out.has(region)) continue;
      STITCH_TRY(RegionBrief brief, brief_of(now, out.plan(), region, step, brain_));
      STITCH_TRY(RegionAnswer answer, work(now, step, out.plan(), brief));
      STITCH_CHECK(out.take(brief, answer));
    }
    return std::move(out).finish();
  }

  // A revision continues the last try's conversation, unless that would leave no room for another answer.
  Result<std::vector<llm::Message>> beginning(const RegionBrief& brief, const Conversation* earlier) const {
    size_t bytes = 0;
    if (earlier)
      for (const llm::Message& each : earlier->messages) {
        bytes += each.text.size();
        for (const llm::ToolCall& call : each.tool_calls) bytes += call.arguments.size();
      }
    if (!earlier || bytes > share_of_prompt(brain_, 0.5)) {
      PromptValues values = brief.values;
      values["turns"] = std::to_string(brain_.max_turns);
      STITCH_TRY(std::string prompt, brain_.prompts("coder_agent", values));
      return std::vector{llm::user_message(std::move(prompt))};
    }
    std::vector<llm::Message> out = earlier->messages;
    for (llm::Message& each : out) each.cache = false;
    out.push_back(llm::user_message(format(
        "What you submitted was judged with the whole program.\n{}Tries so far:\n{}You have {} turns "
        "more, and your files are as you left them. Improve what was right, repair what was wrong, and "
        "submit; or decline.",
        brief.values.at("feedback"), brief.values.at("siblings"), brain_.max_turns)));
    return out;
  }

  Result<RegionAnswer> work(const Situation& now, const Proposal& step, const plan::Plan& plan,
                            const RegionBrief& brief) {
    AgentTools tools(now, step, plan, brief, brain_);
    const auto before = earlier_.find(brief.region);
    if (before != earlier_.end()) tools.go_on_with(before->second.files);
    STITCH_TRY(std::vector<llm::Message> messages,
               beginning(brief, before == earlier_.end() ? nullptr : &before->second));
    llm::Request request{.messages = std::move(messages), .tools = AgentTools::specs()};
    Result<RegionAnswer> out = turns(now, brief, tools, request);
    earlier_[brief.region] = {std::move(request.messages), tools.files()};
    return out;
  }

  Result<RegionAnswer> turns(const Situation& now, const RegionBrief& brief, AgentTools& tools,
                             llm::Request& request) {
    size_t cached = 0;  // the message up to which the server is told to remember, besides the first
    request.messages.front().cache = true;
    int idle = 0;  // answers in a row that call no tool
    for (int64_t turn = 0; turn < brain_.max_turns; ++turn) {
      if (brain_.on_progress)
        brain_.on_progress(
            format("{} works on {}, turn {} of {}", brain_.author, brief.region, turn + 1, brain_.max_turns));
      if (cached > 0) request.messages[cached].cache = false;
      cached = request.messages.size() - 1;
      request.messages[cached].cache = true;
      STITCH_TRY(llm::Reply reply, brain_.chat->ask(request, ask_options(now)));
      request.messages.push_back(reply.message());
      if (reply.tool_calls.empty()) {
        if (++idle == 2) break;
        request.messages.push_back(llm::user_message(
            "Nothing was called. Write region.cu or change the plan, and call submit; or call decline."));
        continue;
      }
      idle = 0;
      for (const llm::ToolCall& call : reply.tool_calls) {
        auto answer = tools.call(call);
        if (!answer && answer.error().code == error_code::stopped) return answer.error();
        request.messages.push_back(
            llm::tool_message(call, answer ? *answer : answer.error().text(), !answer));
      }
      if (tools.submitted()) return *tools.submitted();
    }
    // Out of turns: the fastest that passed, else what was written last, is judged like anything else.
    if (auto best = tools.best()) return *best;
    return work_error("llm_answer", format("{} wrote nothing for {} in {} turns", brain_.author, brief.region,
                                           brain_.max_turns));
  }

  std::map<std::string, Conversation> earlier_;  // of this step, by region
  LlmBrain brain_;
  std::unique_ptr<Coder> builtin_ = builtin_coder();
};

}  // namespace

std::unique_ptr<Coder> llm_agent_coder(LlmBrain brain) {
  return std::make_unique<LlmAgentCoder>(std::move(brain));
}

// The LLM Coder with one request and one answer. Other regions are written by the built-in Coder.

namespace {

class LlmAnswerCoder final : public Coder {
 public:
  explicit LlmAnswerCoder(LlmBrain brain) : brain_(std::move(brain)) {}

  Result<Draft> write(const Situation& now, const Proposal& step) override {
    if (step.to_write.empty()) return builtin_->write(now, step);
    return draft(now, step, "coder_answer");
  }

  // From a try that was right but no faster, improve; else repair.
  Result<std::optional<Draft>> revise(const Situation& now, const Proposal& step) override {
    if (step.to_write.empty()) return builtin_->revise(now, step);
    const bool right = now.base >= 0 && now.siblings[static_cast<size_t>(now.base)].seconds > 0;
    STITCH_TRY(Draft out, draft(now, step, right ? "coder_improve" : "coder_repair"));
    return std::optional(std::move(out));
  }

  std::string author() const override { return brain_.author; }

 private:
  Result<Draft> draft(const Situation& now, const Proposal& step, std::string_view prompt) {
    if (brain_.samples > 1 && step.to_write.size() == 1) return samples_.draft(now, step, prompt);
    DraftOfAnswers out(now, step, brain_.author);
    for (const std::string& region : step.to_write) {
      if (&region != &step.to_write.front() && !out.has(region)) continue;
      STITCH_TRY(RegionBrief brief, brief_of(now, out.plan(), region, step, brain_));
      STITCH_TRY(std::string text, brain_.prompts(prompt, brief.values));
      if (brain_.on_progress) brain_.on_progress(format("{} writes {}", brain_.author, region));
      STITCH_TRY(RegionAnswer answer, ask_region(now, out.plan(), brief, brain_, std::move(text)));
      STITCH_CHECK(out.take(brief, answer));
    }
    return std::move(out).finish();
  }

  const LlmBrain brain_;
  SampledAnswers samples_{brain_};
  std::unique_ptr<Coder> builtin_ = builtin_coder();
};

}  // namespace

std::unique_ptr<Coder> llm_answer_coder(LlmBrain brain) {
  return std::make_unique<LlmAnswerCoder>(std::move(brain));
}

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
      if (verdict.error().code == error_code::stopped) return std::move(verdict).error();
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
