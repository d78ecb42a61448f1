// Times implementations of a region on this machine's GPU: built as one program, each run alone under the
// profiler.
#pragma once

#include <chrono>
#include <functional>
#include <span>

#include "learn/coder/choices.h"
#include "learn/coder/region_question.h"
#include "runner/candidate.h"

namespace stitch::learn {

struct MeasureOptions {
  runner::Device device = runner::Device::cuda;  // emulated: for tests, its times mean nothing
  std::chrono::milliseconds time_limit{8'000};   // for one variant; the GPU is held meanwhile
  int repeats = 5;  // of each, three times as many of what is near the best; the median counts
  std::function<void(std::string_view)> on_progress;
};

struct Measured {
  std::vector<Timed> timed;  // in the order of the variants
  std::string trouble;       // the last thing that failed, for people; empty: nothing did
};

// Variants that do not fit, build or run are `failed`, and cost the others nothing: one that is refused or
// crashes is left out, and where it is not known which of several is at fault, they are tried in halves. An
// Error is a failure of the machine: no GPU, no compiler. Thread-safe: threads build concurrently and time
// one after another.
Result<Measured> measure(const RegionProblem& problem, std::span<const plan::Region> variants,
                         const MeasureOptions& options);

}  // namespace stitch::learn
