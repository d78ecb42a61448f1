// One policy in training: samples groups of answers, judges them, follows the gradient. What a step draws
// depends on the seed and the step's number alone, so a run that goes on from a checkpoint has the same
// curve.
#pragma once

#include <functional>
#include <optional>

#include "learn/grpo/adam.h"
#include "learn/grpo/differences.h"
#include "learn/grpo/draw.h"
#include "learn/grpo/grpo.h"
#include "learn/grpo/question.h"

namespace stitch::learn {

struct TrainOptions {
  uint64_t seed = 1;
  int questions = 16;  // a step
  int answers = 8;     // a question: the group
  int updates = 2;     // of the policy, by the same answers
  AdamOptions adam;
  GrpoOptions grpo;
  // The weight of the entropy begins here and falls to GrpoOptions' own: decisions that belong together are
  // found together only while all of them are still open.
  double first_entropy = 0;
  int64_t cooling = 0;  // steps that takes
};

// A point of the curve.
struct TrainStep {
  int64_t step = 0;
  double reward = 0;        // mean over answers
  double best = 0;          // mean over groups of the best answer
  GrpoLoss loss;            // before the step's last update
  int skipped_updates = 0;  // the gradient was no number
};

// Answers by the most probable options, without chance.
std::vector<int> greedy(const Scorer& policy, Question& question);
// Drawn from the policy.
Answer sample(const Scorer& policy, const Scorer& reference, Question& question, Draw& draw);

class Trainer {
 public:
  // `policy` as it is now is what the KL term holds on to, unless a reference is given.
  Trainer(Scorer policy, TrainOptions options);
  Trainer(Scorer policy, Scorer reference, Adam adam, int64_t steps, TrainOptions options);

  TrainStep step(const Questions& questions);
  // One pass over known differences of scores in batches; the mean loss. `rate`: of Adam's own.
  double fit(std::span<const Differences> questions, int batch, double rate);
  // What was learned so far becomes the reference, and Adam begins anew: the end of the warm-up.
  void hold_on();

  const Scorer& policy() const { return policy_; }
  const Scorer& reference() const { return reference_; }
  const Adam& adam() const { return adam_; }
  const TrainOptions& options() const { return options_; }
  int64_t steps() const { return steps_; }

 private:
  Scorer policy_, reference_;
  Adam adam_;
  int64_t steps_ = 0, passes_ = 0;
  TrainOptions options_;
};

}  // namespace stitch::learn
