#include "learn/grpo/differences.h"

#include <algorithm>
#include <cmath>

namespace stitch::learn {

double difference_loss(const Scorer& policy, std::span<const Differences* const> questions,
                       std::span<double> gradient) {
  std::vector<float> rows;
  for (const Differences* each : questions)
    rows.insert(rows.end(), each->options.begin(), each->options.end());
  Scorer::Trace trace;
  const std::vector<double> scores = policy.score(rows, gradient.empty() ? nullptr : &trace);
  std::vector<double> slopes(scores.size(), 0.0);
  double loss = 0;
  size_t first = 0;
  for (const Differences* each : questions) {
    const auto known = static_cast<double>(
        std::ranges::count_if(each->wanted, [](double wanted) { return std::isfinite(wanted); }));
    const double weight = known > 0 ? 1 / known / static_cast<double>(questions.size()) : 0;
    for (size_t i = 1; i < each->wanted.size(); ++i) {
      if (!std::isfinite(each->wanted[i])) continue;
      const double off = scores[first + i] - scores[first] - each->wanted[i];
      const double slope = weight * std::clamp(off, -1.0, 1.0);
      loss += weight * (std::abs(off) < 1 ? off * off / 2 : std::abs(off) - 0.5);
      slopes[first + i] += slope;
      slopes[first] -= slope;
    }
    first += each->wanted.size();
  }
  if (!gradient.empty()) policy.backward(trace, slopes, gradient);
  return loss;
}

}  // namespace stitch::learn
