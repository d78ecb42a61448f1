// Group-relative policy optimisation: several answers to the same question, each judged against the others.
//
//   A    = (reward - mean of the group) / (spread of the group + epsilon)
//   rho  = exp(log p - log p when it was sampled)
//   loss = -min(rho A, clip(rho, 1 - below, 1 + above) A) + kl (exp(d) - d - 1) - entropy H,
//          d = log p of the warm-up policy - log p
//
// averaged over the decisions of an answer, then over answers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "learn/grpo/scorer.h"

namespace stitch::learn {

// One choice among options, as it was made.
struct Decision {
  std::vector<float> options;  // (options, features)
  int chosen = 0;
  double sampled = 0;    // log probability when it was made
  double reference = 0;  // log probability by the warm-up policy
};

struct Answer {
  std::vector<Decision> decisions;
  double reward = 0;  // NaN: it has no reward
};
using Group = std::vector<Answer>;  // answers to the same question

struct GrpoOptions {
  double clip_below = 0.2, clip_above = 0.28;
  double kl = 0.03, entropy = 0.01;
  double epsilon = 1e-4;         // beside a group's spread
  bool divide_by_spread = true;  // else advantages are differences of rewards
};

struct Advantages {
  std::vector<double> values;  // an answer each; 0 where there is none
  std::vector<bool> counted;   // false: its reward is no number
  int dropped = 0;             // answers without a number for a reward
  bool flat = false;           // no spread: nothing to learn
};
// Of one group's rewards, by those that are finite.
Advantages advantages_of(std::span<const double> rewards, const GrpoOptions& options);

struct GrpoLoss {
  double loss = 0;
  double policy = 0, kl = 0, entropy = 0;  // means over decisions
  double clipped = 0;                      // share of decisions whose gradient the clip takes away
  int answers = 0, dropped = 0, groups = 0, flat_groups = 0;
};
// Adds to the gradient, unless it is empty.
GrpoLoss grpo_loss(const Scorer& policy, std::span<const Group> groups, const GrpoOptions& options,
                   std::span<double> gradient);

}  // namespace stitch::learn
