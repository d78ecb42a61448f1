// The cost model held against measured regions: how far off it is, and the calibration that brings it
// nearest.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "device/calibration.h"
#include "plan/estimate.h"

namespace stitch::plan {

struct CostSample {
  std::string task, region;
  std::string way;       // way_of
  RegionEstimate parts;  // without a calibration
  double measured = 0;   // seconds
};

// "conv.cudnn half channels_last": what a calibration knows techniques by.
std::string way_of(const Region& region);

struct CostError {
  int samples = 0;
  double median = 1;         // of the larger over the smaller
  double within_double = 0;  // share
};
CostError error_of(std::span<const CostSample> samples, const Calibration* calibration);
double predicted(const CostSample& sample, const Calibration* calibration);
// Of pairs of predicted and measured seconds.
CostError error_of(const std::vector<std::pair<double, double>>& predicted_and_measured);

// Ways with fewer samples than this stay as they are.
inline constexpr int least_samples = 4;
Calibration fit(std::span<const CostSample> samples, std::string gpu, std::string made);
// The error on tasks that a fit has not seen: each fifth of the tasks by a fit to the others.
CostError error_on_unseen_tasks(std::span<const CostSample> samples);

// {"way", "memory", "compute", "rearranging", "launch", "measured"}: what a record of `bench` keeps.
Json to_json(const CostSample& sample);
Result<CostSample> read_sample(const Json& json);

}  // namespace stitch::plan
