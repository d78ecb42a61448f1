// A language model as the judge: comment-stripped code and the built-in judge's evidence in, the same scores
// out. What gates and code prove stands, whatever it says.
#pragma once

#include "llm/chat.h"
#include "prompts/templates.h"
#include "rubric/score.h"

namespace stitch::rubric {

struct LlmJudge {
  llm::Chat& chat;
  std::string name;        // "llm:ollama/qwen2.5-coder"
  prompts::Prompt prompt;  // "judge"
};

// What the model is asked.
Result<std::string> judge_prompt(const prompts::Prompt& prompt, const Evidence& evidence);

// The model's scores. Where it can't be asked, or answers something else also after a repair, the built-in
// judge's with the reason.
Scores judge(const Evidence& evidence, const LlmJudge& llm, const llm::AskOptions& options = {});

}  // namespace stitch::rubric
