// The compact Coder against others on problems that it was not trained on: what each one's choice takes.
#pragma once

#include "base/json.h"
#include "learn/coder/region_question.h"
#include "learn/grpo/scorer.h"

namespace stitch::learn {

// The geometric mean over problems of a chooser's time over the built-in Planner's, with its 95 % interval by
// resampling problems.
struct Standing {
  std::string name;
  double mean = 1, low = 1, high = 1;
};
struct Comparison {
  int problems = 0;
  // policy, built-in, cost model (the least estimate), random, best.
  std::vector<Standing> standings;
  // Choices tried until one is within 5 % of the best: the median over problems and their mean share of all.
  struct Search {
    std::string name;
    double median_trials = 0, mean_share = 0;
  };
  std::vector<Search> searches;  // policy's order, the built-in choice and then in order, random
};
// Among the choices that `times` knows. Several policies (seeds) count as one: every problem has one of each.
Comparison compare(std::span<const Scorer> policies, const std::vector<RegionProblem>& problems, Times& times,
                   uint64_t seed);
Json to_json(const Comparison& comparison);

}  // namespace stitch::learn
