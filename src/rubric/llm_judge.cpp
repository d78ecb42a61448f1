#include "rubric/llm_judge.h"

#include <nlohmann/json.hpp>

#include "base/terminal/line_diff.h"
#include "llm/answers/json_answer.h"

namespace stitch::rubric {

namespace {

constexpr size_t most_code = 60'000, most_evidence = 30'000, most_diff = 20'000;  // bytes

std::string change_text(const Evidence& evidence) {
  if (!evidence.change) return "none: it was written from scratch\n";
  std::string diff;
  for (const DiffLine& line : line_diff(evidence.change->before.code, evidence.code.code, 2))
    diff += static_cast<char>(line.kind) + line.text + "\n";
  return llm::quoted("feedback", evidence.change->feedback.text, "", most_diff) +
         llm::quoted("diff", diff, "diff", most_diff);
}

}  // namespace

Result<std::string> judge_prompt(const prompts::Prompt& prompt, const Evidence& evidence) {
  return prompts::fill(
      prompt, {{"skill", std::string(name(evidence.skill))},
               {"source", llm::quoted("source", evidence.code.code, evidence.code.python ? "python" : "cuda",
                                      most_code)},
               {"evidence", llm::quoted("evidence", document_text(to_json(evidence)), "json", most_evidence)},
               {"change", change_text(evidence)},
               {"rubric", anchors_text(evidence.skill)},
               {"schema", score_schema().dump(1)}});
}

Scores judge(const Evidence& evidence, const LlmJudge& llm, const llm::AskOptions& options) {
  const Scores builtin = judge(evidence);
  auto fallen_back = [&](const Error& error) {
    Scores out = builtin;
    out.fallback = format("{} could not judge ({}): {}", llm.name, error.code, error.message);
    return out;
  };
  auto prompt = judge_prompt(llm.prompt, evidence);
  if (!prompt) return fallen_back(prompt.error());
  llm::Request request{.messages = {llm::user_message(*std::move(prompt))}};
  request.temperature = 0;
  request.answer_schema = std::make_shared<const Json>(score_schema());
  auto answer = llm::ask_json(llm.chat, std::move(request), score_schema(), options);
  if (!answer) return fallen_back(answer.error());
  auto scores = scores_from_json(*answer->value);
  if (!scores) return fallen_back(scores.error());
  scores->judge = llm.name;
  // A proof is not a matter of opinion: a model may find a hack, but can't wave one through, and it doesn't
  // count operators again.
  if (builtin.major_hacking) {
    scores->major_hacking = true;
    (*scores)[Dimension::anti_hacking] = builtin[Dimension::anti_hacking];
  }
  if (scores->major_hacking && (*scores)[Dimension::anti_hacking].score > 1) {
    (*scores)[Dimension::anti_hacking].score = 1;
    (*scores)[Dimension::anti_hacking].value = 1;
  }
  return *std::move(scores);
}

}  // namespace stitch::rubric
