// The Coder as an agent: the same task as for an answer, with tools and a number of turns.
#include "agents/llm/agent_tools.h"
#include "base/error_codes.h"

namespace stitch::agents {

namespace {

class LlmAgentCoder final : public Coder {
 public:
  explicit LlmAgentCoder(LlmBrain brain) : brain_(std::move(brain)) {}

  Result<Draft> write(const Situation& now, const Proposal& step) override {
    if (step.to_write.empty()) return builtin_->write(now, step);
    plan::Plan plan = step.plan;
    for (const std::string& region : step.to_write) {
      STITCH_TRY(RegionBrief brief, brief_of(now, plan, region, step, brain_));
      STITCH_TRY(std::string source, work(now, step, plan, brief));
      STITCH_TRY(plan, code::with_source(now.context, plan, region,
                                         source_from(brief, std::move(source), brain_.author)));
    }
    return draft_of(now, step, std::move(plan), brain_.author);
  }

  // Siblings and feedback are part of the brief.
  Result<std::optional<Draft>> revise(const Situation& now, const Proposal& step) override {
    if (step.to_write.empty()) return builtin_->revise(now, step);
    STITCH_TRY(Draft draft, write(now, step));
    return std::optional(std::move(draft));
  }

 private:
  Result<std::string> work(const Situation& now, const Proposal& step, const plan::Plan& plan,
                           const RegionBrief& brief) {
    AgentTools tools(now, step, plan, brief, brain_);
    PromptValues values = brief.values;
    values["turns"] = std::to_string(brain_.max_turns);
    STITCH_TRY(std::string prompt, brain_.prompts("coder_agent", values));
    llm::Request request{.messages = {llm::user_message(std::move(prompt))}, .tools = AgentTools::specs()};
    request.messages.back().cache = true;
    int idle = 0;  // answers in a row that call no tool
    for (int64_t turn = 0; turn < brain_.max_turns; ++turn) {
      if (brain_.on_progress)
        brain_.on_progress(
            format("{} works on {}, turn {} of {}", brain_.author, brief.region, turn + 1, brain_.max_turns));
      STITCH_TRY(llm::Reply reply, brain_.chat->ask(request, ask_options(now)));
      request.messages.push_back(reply.message());
      if (reply.tool_calls.empty()) {
        if (++idle == 2) break;
        request.messages.push_back(
            llm::user_message("Nothing was called. Write region.cu with write_file and call submit."));
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
    // Out of turns: what was written last is judged like anything else.
    if (auto last = tools.written()) return *last;
    return work_error("llm_answer", format("{} wrote nothing for {} in {} turns", brain_.author, brief.region,
                                           brain_.max_turns));
  }

  LlmBrain brain_;
  std::unique_ptr<Coder> builtin_ = builtin_coder();
};

}  // namespace

std::unique_ptr<Coder> llm_agent_coder(LlmBrain brain) {
  return std::make_unique<LlmAgentCoder>(std::move(brain));
}

}  // namespace stitch::agents
