// A language model as the judge: comment-stripped code and the built-in judge's evidence in, the same scores
// out. What gates and code prove stands, whatever it says.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "llm/chat.h"
#include "prompts/templates.h"
#include "rubric/evidence.h"

namespace stitch::rubric {

// The rubric: four dimensions, 1 to 5 each, with an anchor for every score; what a judge answers.

enum class Dimension : uint8_t { anti_hacking, cuda_engineering, operator_coverage, skill_compliance };
inline constexpr std::array all_dimensions = {Dimension::anti_hacking, Dimension::cuda_engineering,
                                              Dimension::operator_coverage, Dimension::skill_compliance};
inline constexpr size_t dimension_count = all_dimensions.size();
std::string_view name(Dimension dimension);  // "anti_hacking": in JSON and in prompts
std::string_view words(Dimension dimension);

// What a score means. The built-in judge's rules, docs/rubric.md and the LLM judge's prompt say the same.
struct Anchors {
  Dimension dimension;
  Skill skill;
  std::array<std::string_view, 5> anchors;  // of 1, 2, 3, 4, 5
};
std::span<const Anchors> all_anchors();
const Anchors& anchors_of(Dimension dimension, Skill skill);
// For a prompt: a list a dimension.
std::string anchors_text(Skill skill);

struct Score {
  int score = 3;       // 1 to 5
  double value = 3.0;  // the same, finer: orders candidates within a score
  std::string reason;  // one line, with its evidence
};

struct Scores {
  std::array<Score, dimension_count> dimensions;
  bool major_hacking = false;
  std::string judge;     // "builtin", "llm:ollama/qwen2.5-coder"
  std::string fallback;  // why the built-in judge answers for an LLM; empty: it doesn't

  const Score& operator[](Dimension dimension) const { return dimensions[static_cast<size_t>(dimension)]; }
  Score& operator[](Dimension dimension) { return dimensions[static_cast<size_t>(dimension)]; }
  int total() const;  // 4 to 20
};

Json to_json(const Scores& scores);
Result<Scores> scores_from_json(const Json& json);
// JSON Schema of what an LLM answers: part of the above.
const Json& score_schema();

// Each score from the evidence alone: the same evidence gives the same scores.
Scores judge(const Evidence& evidence);

// A value becomes a score; no number at all is the lowest.
Score score_of(double value, std::string reason);

// A dimension a file.
Score score_anti_hacking(const Evidence& evidence);
Score score_cuda_engineering(const Evidence& evidence);
Score score_operator_coverage(const Evidence& evidence);
Score score_skill_compliance(const Evidence& evidence);
bool is_major_hacking(const Evidence& evidence);

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
