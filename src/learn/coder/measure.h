// What implementations of a region take on the GPU of this machine: built as one program, each region run
// alone under the profiler.
#pragma once

#include <chrono>
#include <functional>
#include <span>

#include "learn/coder/alone.h"
#include "learn/coder/region_question.h"

namespace stitch::learn {

struct MeasureOptions {
  std::chrono::milliseconds time_limit{60'000};  // for one request to the program
  int repeats = 3;                               // of each; the median counts
  std::function<void(std::string_view)> on_progress;
};

// In the order of the variants. Those that do not fit, build or run are `failed`; where it is not known which
// of several is at fault, they are tried in halves. An Error is trouble of our own: no GPU, no compiler.
Result<std::vector<Timed>> measure(const RegionProblem& problem, std::span<const plan::Region> variants,
                                   const MeasureOptions& options);

}  // namespace stitch::learn
