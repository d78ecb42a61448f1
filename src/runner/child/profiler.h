// What the device did, by CUPTI's activity records; there if CUPTI's headers were when this was built.
#pragma once

#include <vector>

#include "base/result.h"
#include "runner/candidate.h"

namespace stitch::runner {

Result<void> start_cuda_profile(bool host_calls);
Result<std::vector<Activity>> end_cuda_profile();

}  // namespace stitch::runner
