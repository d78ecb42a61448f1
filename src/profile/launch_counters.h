// Counters of launches in order, as CUPTI's range profiler gives them, become metrics of kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "profile/metrics.h"
#include "runner/candidate.h"

namespace stitch::profile {

// `kernels`: names of what the same call launched, in that order. One entry for each name, the mean of its
// launches. An Error where the two are not of the same call: a CUDA graph counts as one launch, whatever is
// in it.
Result<std::vector<KernelMetrics>> metrics_of_launches(std::span<const std::string> kernels,
                                                       std::span<const runner::Counts> launches);

}  // namespace stitch::profile
