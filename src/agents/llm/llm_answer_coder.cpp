// The LLM Coder with one request and one answer. Other regions are written by the built-in Coder.
#include "agents/llm/llm_source.h"
#include "agents/llm/region_brief.h"
#include "llm/answers/code_answer.h"

namespace stitch::agents {

namespace {

class LlmAnswerCoder final : public Coder {
 public:
  explicit LlmAnswerCoder(LlmBrain brain) : brain_(std::move(brain)) {}

  Result<Draft> write(const Situation& now, const Proposal& step) override {
    if (step.to_write.empty()) return builtin_->write(now, step);
    return draft(now, step, "coder_answer");
  }

  Result<std::optional<Draft>> revise(const Situation& now, const Proposal& step) override {
    if (step.to_write.empty()) return builtin_->revise(now, step);
    STITCH_TRY(Draft out, draft(now, step, "coder_repair"));
    return std::optional(std::move(out));
  }

 private:
  Result<Draft> draft(const Situation& now, const Proposal& step, std::string_view prompt) {
    plan::Plan plan = step.plan;
    for (const std::string& region : step.to_write) {
      STITCH_TRY(RegionBrief brief, brief_of(now, plan, region, step, brain_));
      STITCH_TRY(std::string text, brain_.prompts(prompt, brief.values));
      if (brain_.on_progress) brain_.on_progress(format("{} writes {}", brain_.author, region));
      llm::Request request{.messages = {llm::user_message(std::move(text))}};
      auto usable = [&](const std::string& source) -> Result<void> {
        STITCH_CHECK(code::with_source(now.context, plan, region, source_from(brief, source, brain_.author)));
        return {};
      };
      STITCH_TRY(llm::CodeAnswer answer,
                 llm::ask_code(*brain_.chat, std::move(request), brief.function, ask_options(now), usable));
      STITCH_TRY(plan, code::with_source(now.context, plan, region,
                                         source_from(brief, answer.source, brain_.author)));
    }
    return draft_of(now, step, std::move(plan), brain_.author);
  }

  LlmBrain brain_;
  std::unique_ptr<Coder> builtin_ = builtin_coder();
};

}  // namespace

std::unique_ptr<Coder> llm_answer_coder(LlmBrain brain) {
  return std::make_unique<LlmAnswerCoder>(std::move(brain));
}

}  // namespace stitch::agents
