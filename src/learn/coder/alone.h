// A region alone, in several implementations side by side: a small graph that computes it once for each of
// them, so that one program, built once, tells what all of them take.
#pragma once

#include <memory>
#include <span>

#include "learn/coder/choices.h"
#include "program/package.h"

namespace stitch::learn {

struct Alone {
  std::shared_ptr<const PlannedTask> task;  // of the small graph
  std::vector<size_t> regions;              // of its plan: a variant each
};
// Values that the region reads or writes in another type or order than the graph has are converted before and
// behind it, by regions of their own. Errors name the variant that can't be had.
Result<Alone> region_alone(const RegionProblem& problem, std::span<const plan::Region> variants);

}  // namespace stitch::learn
