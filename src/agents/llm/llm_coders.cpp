// The Coder as an agent: the same task as for an answer, with tools and a number of turns.
#include "agents/llm/agent_tools.h"
#include "agents/llm/llm_samples.h"
#include "agents/llm/region_answer.h"
#include "base/error_codes.h"

namespace stitch::agents {

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

  // A revision goes on where the last try ended, unless that would leave no room for another one.
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

}  // namespace stitch::agents
