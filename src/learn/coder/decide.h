// What the compact Coder proposes for a region.
#pragma once

#include "learn/coder/region_question.h"
#include "learn/grpo/scorer.h"

namespace stitch::learn {

// How much surer than of the built-in Planner's choice it has to be of another one, in the logarithms of
// their probabilities. The built-in choice is rarely bad (docs/learning.md has figures), so a doubt is for
// it.
inline constexpr double usual_caution = 2;

double log_probability(const Scorer& policy, RegionQuestion& question, std::span<const int> answer);
// Its most probable answer, a decision at a time; the built-in choice where it isn't sure enough.
plan::Region decide(const Scorer& policy, RegionQuestion& question, double caution);

}  // namespace stitch::learn
