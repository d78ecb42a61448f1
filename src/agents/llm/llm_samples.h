// Several answers for a region instead of one: asked for side by side, for all regions that come next, each
// judged by the quick checks. The fastest that passed is the step's program; the others are told with the
// next question.
#pragma once

#include "agents/llm/region_answer.h"

namespace stitch::agents {

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

}  // namespace stitch::agents
