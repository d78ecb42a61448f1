#include "learn/grpo/trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stitch::learn {

namespace {

int drawn_option(std::span<const double> logs, Draw& draw) {
  double left = draw.uniform();
  for (size_t i = 0; i + 1 < logs.size(); ++i) {
    left -= std::exp(logs[i]);
    if (left < 0) return static_cast<int>(i);
  }
  return static_cast<int>(logs.size()) - 1;
}

std::vector<size_t> shuffled_order(size_t count, Draw& draw) {
  std::vector<size_t> out(count);
  std::iota(out.begin(), out.end(), size_t{0});
  for (size_t i = count; i > 1; --i)
    std::swap(out[i - 1], out[static_cast<size_t>(draw.below(static_cast<int64_t>(i)))]);
  return out;
}

}  // namespace

std::vector<int> greedy(const Scorer& policy, Question& question) {
  std::vector<int> chosen;
  for (;;) {
    const std::vector<float> rows = question.options(chosen);
    if (rows.empty()) return chosen;
    const std::vector<double> scores = policy.score(rows);
    chosen.push_back(static_cast<int>(std::ranges::max_element(scores) - scores.begin()));
  }
}

Answer sample(const Scorer& policy, const Scorer& reference, Question& question, Draw& draw) {
  Answer out;
  std::vector<int> chosen;
  for (;;) {
    std::vector<float> rows = question.options(chosen);
    if (rows.empty()) break;
    const std::vector<double> logs = log_probabilities(policy.score(rows));
    const int option = drawn_option(logs, draw);
    const auto at = static_cast<size_t>(option);
    const double held = log_probabilities(reference.score(rows))[at];
    out.decisions.push_back(
        {.options = std::move(rows), .chosen = option, .sampled = logs[at], .reference = held});
    chosen.push_back(option);
  }
  out.reward = question.reward(chosen);
  return out;
}

Trainer::Trainer(Scorer policy, TrainOptions options)
    : policy_(std::move(policy)), reference_(policy_), options_(options) {}

Trainer::Trainer(Scorer policy, Scorer reference, Adam adam, int64_t steps, TrainOptions options)
    : policy_(std::move(policy)),
      reference_(std::move(reference)),
      adam_(std::move(adam)),
      steps_(steps),
      options_(options) {}

void Trainer::hold_on() {
  reference_ = policy_;
  adam_ = {};
}

double Trainer::fit(std::span<const Differences> questions, int batch, double rate) {
  Draw draw(options_.seed, 0x77a7a000U + static_cast<uint64_t>(++passes_));
  AdamOptions adam = options_.adam;
  adam.rate *= rate;
  double sum = 0;
  int batches = 0;
  std::vector<const Differences*> some;
  const std::vector<size_t> order = shuffled_order(questions.size(), draw);
  for (size_t i = 0; i < order.size(); ++i) {
    some.push_back(&questions[order[i]]);
    if (std::ssize(some) < batch && i + 1 < order.size()) continue;
    std::vector<double> gradient(policy_.parameters().size(), 0.0);
    sum += difference_loss(policy_, some, gradient);
    adam_.step(policy_.parameters(), gradient, adam);
    ++batches;
    some.clear();
  }
  return batches > 0 ? sum / batches : 0;
}

TrainStep Trainer::step(const Questions& questions) {
  TrainStep out{.step = ++steps_};
  if (questions.empty()) return out;
  Draw draw(options_.seed, static_cast<uint64_t>(steps_));
  std::vector<size_t> order = shuffled_order(questions.size(), draw);
  order.resize(std::min(order.size(), static_cast<size_t>(options_.questions)));
  std::vector<Group> groups;
  double sum = 0, best = 0;
  int counted = 0, judged = 0;
  for (size_t which : order) {
    Group group;
    double most = -INFINITY;
    for (int i = 0; i < options_.answers; ++i) {
      group.push_back(sample(policy_, reference_, *questions[which], draw));
      const double reward = group.back().reward;
      if (!std::isfinite(reward)) continue;
      sum += reward, ++counted;
      most = std::max(most, reward);
    }
    if (std::isfinite(most)) best += most, ++judged;
    groups.push_back(std::move(group));
  }
  out.reward = counted > 0 ? sum / counted : 0;
  out.best = judged > 0 ? best / judged : 0;
  GrpoOptions grpo = options_.grpo;
  if (steps_ < options_.cooling) {
    const double left = 1 - static_cast<double>(steps_) / static_cast<double>(options_.cooling);
    grpo.entropy += left * std::max(0.0, options_.first_entropy - grpo.entropy);
  }
  for (int i = 0; i < options_.updates; ++i) {
    std::vector<double> gradient(policy_.parameters().size(), 0.0);
    out.loss = grpo_loss(policy_, groups, grpo, gradient);
    if (out.loss.answers == 0) break;
    out.skipped_updates += !adam_.step(policy_.parameters(), gradient, options_.adam);
  }
  return out;
}

}  // namespace stitch::learn
