// Device activity from CUPTI's activity records; built where CUPTI's headers are found.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runner/candidate.h"

namespace stitch::runner {

Result<void> start_cuda_profile(bool host_calls);
Result<std::vector<Activity>> end_cuda_profile();

// Hardware counters by CUPTI's range profiler: every launch is a range, replayed as often as the counters
// need. A CUDA graph is one range: count a call that launches kernels directly to tell them apart.
// `context`: the program's CUcontext. Counters that this GPU lacks are left out.
Result<void> start_cuda_counters(void* context, std::span<const std::string> counters, int most_launches);
// One entry per launch, in order.
Result<std::vector<Counts>> end_cuda_counters();

}  // namespace stitch::runner
