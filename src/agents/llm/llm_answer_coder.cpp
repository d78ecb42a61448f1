// The LLM Coder with one request and one answer. Other regions are written by the built-in Coder.
#include "agents/llm/llm_samples.h"
#include "agents/llm/region_answer.h"

namespace stitch::agents {

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
