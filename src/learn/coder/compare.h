// Compares the compact Coder with others on problems it was not trained on, by the time of each one's choice.
#pragma once

#include "base/json.h"
#include "device/calibration.h"
#include "learn/coder/decide.h"
#include "learn/coder/region_question.h"
#include "learn/grpo/scorer.h"

namespace stitch::learn {

// The geometric mean over problems of a chooser's time over the built-in Planner's, with its 95 % interval by
// resampling problems.
struct Standing {
  std::string name;
  double mean = 1, low = 1, high = 1;
};
// What a region was compared by: a chooser's time over the built-in Planner's, and choices tried until one is
// within 5 % of the best.
struct ComparedRegion {
  std::string task, region, kind, key;
  int choices = 0;
  double built_in = 0;  // seconds
  std::vector<std::pair<std::string, double>> time_over_built_in, trials;
  // By order of trials: the best of the first quarter over the best of all.
  std::vector<std::pair<std::string, double>> after_a_quarter;
  std::vector<std::pair<std::string, std::string>> chosen;  // as choice_text has it
};
// A cost model to choose by, besides the one without a calibration.
struct NamedCalibration {
  std::string name;
  const Calibration* calibration = nullptr;
};
struct Comparison {
  int problems = 0;
  // policy, built-in, cost model (the least estimate), those with a calibration, random, best.
  std::vector<Standing> standings;
  std::vector<ComparedRegion> regions;
  // Choices tried until one is within 5 % of the best: the median over problems and their mean share of all.
  struct Search {
    std::string name;
    double median_trials = 0, mean_share = 0;
  };
  std::vector<Search> searches;  // by forecast, the built-in choice and then in order, random
};
// Among the choices that `times` knows. `cautions`: others than the committee's own, to compare with.
Comparison compare(const Committee& committee, const std::vector<RegionProblem>& problems, Times& times,
                   uint64_t seed, std::span<const NamedCalibration> calibrations = {},
                   const std::vector<double>& cautions = {});
Json to_json(const Comparison& comparison);

// The calibration that brings the cost model nearest to what is known of these problems.
Calibration fit_calibration(const std::vector<RegionProblem>& problems, Times& times);

}  // namespace stitch::learn
