// Hardware counters by CUPTI's range profiler: every launch is a range of its own, replayed as often as the
// counters need. Launches of a CUDA graph are one range, so whoever wants its kernels calls before there is
// one.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runner/candidate.h"

namespace stitch::runner {

// `context` is the CUcontext in which the program runs. Counters that this GPU doesn't have are left out.
Result<void> start_cuda_counters(void* context, std::span<const std::string> counters, int most_launches);
// A launch each, in order.
Result<std::vector<Counts>> end_cuda_counters();

}  // namespace stitch::runner
