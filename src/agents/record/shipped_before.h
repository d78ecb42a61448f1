// A program that is already in the output folder, by its .stitchcuda record.
#pragma once

#include <map>
#include <string>

#include "agents/optimize.h"

namespace stitch::agents {

using ProgramFacts = std::map<std::string, std::string>;

// The facts that a run with these options records about its program, except the time per call.
ProgramFacts facts_of(const OptimizeOptions& options, bool judged_fully);
// Why the existing program is better; empty if it isn't, or they can't be compared: another task, numerics
// class or measure. Without times, only how they were verified counts.
std::string why_better(const ProgramFacts& there, const ProgramFacts& fresh);

// Checks before the work that the folder is writable and holds no better program.
Result<void> check_place(const OptimizeOptions& options);

}  // namespace stitch::agents
