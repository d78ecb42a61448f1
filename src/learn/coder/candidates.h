// The choices of a region that are worth measuring, best first.
#pragma once

#include "learn/coder/planned_task.h"

namespace stitch::learn {

// The built-in one first, ways as they are by their estimates, then single knobs, those of the built-in way
// first, then any, drawn from the seed; no two alike.
std::vector<plan::Region> candidate_choices(const RegionProblem& problem, size_t most, uint64_t seed = 1);

}  // namespace stitch::learn
