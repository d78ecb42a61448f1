// Supervised: the differences between the scores of a question's options and its first one follow known
// numbers. Least absolute errors, squared near zero (Huber), so that what is far off decides nothing.
#pragma once

#include <span>
#include <vector>

#include "learn/grpo/scorer.h"

namespace stitch::learn {

struct Differences {
  std::vector<float> options;  // (options, features)
  std::vector<double> wanted;  // of each option over the first; NaN: not known
};

// The mean over options, then over questions; adds to the gradient, unless it is empty.
double difference_loss(const Scorer& policy, std::span<const Differences* const> questions,
                       std::span<double> gradient);

}  // namespace stitch::learn
