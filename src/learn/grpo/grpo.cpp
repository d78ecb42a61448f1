#include "learn/grpo/grpo.h"

#include <algorithm>
#include <cmath>

namespace stitch::learn {

namespace {

// All options of many decisions scored in one go, and where each decision's begin.
struct Scored {
  Scorer::Trace trace;
  std::vector<double> scores;
  std::vector<size_t> begins;
};

Scored score_all(const Scorer& policy, std::span<const Decision* const> decisions, bool traced) {
  Scored out;
  std::vector<float> rows;
  const auto features = static_cast<size_t>(policy.shape().features());
  for (const Decision* decision : decisions) {
    out.begins.push_back(rows.size() / features);
    rows.insert(rows.end(), decision->options.begin(), decision->options.end());
  }
  out.begins.push_back(rows.size() / features);
  out.scores = policy.score(rows, traced ? &out.trace : nullptr);
  return out;
}

std::span<const double> scores_of_decision(const Scored& scored, size_t decision) {
  return std::span(scored.scores)
      .subspan(scored.begins[decision], scored.begins[decision + 1] - scored.begins[decision]);
}

double entropy_of(std::span<const double> logs) {
  double sum = 0;
  for (double log : logs) sum -= std::exp(log) * log;
  return sum;
}

}  // namespace

Advantages advantages_of(std::span<const double> rewards, const GrpoOptions& options) {
  Advantages out;
  double sum = 0;
  int count = 0;
  for (double reward : rewards) {
    const bool finite = std::isfinite(reward);
    out.counted.push_back(finite);
    out.dropped += !finite;
    if (finite) sum += reward, ++count;
  }
  out.values.resize(rewards.size(), 0.0);
  const double mean = count > 0 ? sum / count : 0;
  double squares = 0;
  for (double reward : rewards)
    if (std::isfinite(reward)) squares += (reward - mean) * (reward - mean);
  const double spread = count > 1 ? std::sqrt(squares / (count - 1)) : 0;
  // What rounding leaves of equal rewards is no spread.
  out.flat = spread <= 1e-12 * std::max(1.0, std::abs(mean));
  if (out.flat) return out;
  for (size_t i = 0; i < rewards.size(); ++i)
    if (out.counted[i])
      out.values[i] = (rewards[i] - mean) / (options.divide_by_spread ? spread + options.epsilon : 1);
  return out;
}

GrpoLoss grpo_loss(const Scorer& policy, std::span<const Group> groups, const GrpoOptions& options,
                   std::span<double> gradient) {
  GrpoLoss out;
  struct Term {
    double advantage;
    double share;  // of the answer's mean
  };
  std::vector<const Decision*> decisions;
  std::vector<Term> terms;
  for (const Group& group : groups) {
    std::vector<double> rewards;
    for (const Answer& answer : group) rewards.push_back(answer.reward);
    const Advantages advantages = advantages_of(rewards, options);
    ++out.groups;
    out.flat_groups += advantages.flat;
    out.dropped += advantages.dropped;
    for (size_t i = 0; i < group.size(); ++i) {
      if (!advantages.counted[i] || group[i].decisions.empty()) continue;
      ++out.answers;
      const double share = 1 / static_cast<double>(group[i].decisions.size());
      for (const Decision& decision : group[i].decisions) {
        decisions.push_back(&decision);
        terms.push_back({advantages.values[i], share});
      }
    }
  }
  if (out.answers == 0) return out;
  const bool wanted = !gradient.empty();
  const Scored scored = score_all(policy, decisions, wanted);
  std::vector<double> score_gradients(scored.scores.size(), 0.0);
  const auto count = static_cast<double>(decisions.size());
  for (size_t d = 0; d < decisions.size(); ++d) {
    const Decision& decision = *decisions[d];
    const std::vector<double> logs = log_probabilities(scores_of_decision(scored, d));
    const double log = logs[static_cast<size_t>(decision.chosen)];
    const double advantage = terms[d].advantage, weight = terms[d].share / out.answers;
    const double ratio = std::exp(log - decision.sampled);
    const double free = ratio * advantage;
    const double clipped = std::clamp(ratio, 1 - options.clip_below, 1 + options.clip_above) * advantage;
    const double behind = decision.reference - log;
    const double kl = std::exp(behind) - behind - 1, entropy = entropy_of(logs);
    out.loss += weight * (-std::min(free, clipped) + options.kl * kl - options.entropy * entropy);
    out.policy += -std::min(free, clipped) / count;
    out.kl += kl / count;
    out.entropy += entropy / count;
    const bool cut = clipped < free;
    out.clipped += cut / count;
    if (!wanted) continue;
    // By the log probability of what was chosen, then by the scores.
    const double slope = (cut ? 0 : -free) + options.kl * (1 - std::exp(behind));
    for (size_t o = 0; o < logs.size(); ++o) {
      const double p = std::exp(logs[o]);
      const double here = static_cast<int>(o) == decision.chosen ? 1 : 0;
      score_gradients[scored.begins[d] + o] +=
          weight * (slope * (here - p) + options.entropy * p * (logs[o] + entropy));
    }
  }
  if (wanted) policy.backward(scored.trace, score_gradients, gradient);
  return out;
}

}  // namespace stitch::learn
