// Device activity from CUPTI's activity records; built where CUPTI's headers are found.
#pragma once

#include <vector>

#include "base/result.h"
#include "runner/candidate.h"

namespace stitch::runner {

Result<void> start_cuda_profile(bool host_calls);
Result<std::vector<Activity>> end_cuda_profile();

}  // namespace stitch::runner
