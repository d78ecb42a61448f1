// The cost model compared with measured regions: its error, and the calibration that minimises it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/terminal/terminal.h"
#include "gpu/calibration.h"
#include "plan/cost/estimate.h"

namespace stitch::plan {

struct CostSample {
  std::string task, region;
  std::string way;       // way_of
  RegionEstimate parts;  // without a calibration
  double measured = 0;   // seconds
};

// "conv.cudnn half channels_last": the key of a technique in a calibration.
std::string way_of(const Region& region);

struct CostError {
  int samples = 0;
  double median = 1;         // of max(predicted, measured) / min(predicted, measured)
  double within_double = 0;  // share
};
CostError error_of(std::span<const CostSample> samples, const Calibration* calibration);
double predicted(const CostSample& sample, const Calibration* calibration);
// Of pairs of predicted and measured seconds.
CostError error_of(const std::vector<std::pair<double, double>>& predicted_and_measured);

// Ways with fewer samples than this are not calibrated.
inline constexpr int least_samples = 4;
Calibration fit(std::span<const CostSample> samples, std::string gpu, std::string made);
// Five-fold cross-validation over tasks.
CostError error_on_unseen_tasks(std::span<const CostSample> samples);

// {"way", "memory", "compute", "rearranging", "launch", "measured"}: what a record of `bench` keeps.
Json to_json(const CostSample& sample);
Result<CostSample> read_sample(const Json& json);

}  // namespace stitch::plan
