#include "learn/coder/decide.h"

#include "learn/grpo/trainer.h"

namespace stitch::learn {

double log_probability(const Scorer& policy, RegionQuestion& question, std::span<const int> answer) {
  double sum = 0;
  for (size_t i = 0; i < answer.size(); ++i) {
    const auto logs = log_probabilities(policy.score(question.options(answer.first(i))));
    sum += logs[static_cast<size_t>(answer[i])];
  }
  return sum;
}

plan::Region decide(const Scorer& policy, RegionQuestion& question, double caution) {
  const std::vector<int> best = greedy(policy, question);
  if (caution > 0)
    if (auto built_in = question.decisions_to(question.problem().now()))
      if (log_probability(policy, question, best) - log_probability(policy, question, *built_in) < caution)
        return question.problem().now();
  return question.region_of(best);
}

}  // namespace stitch::learn
