// A program that is in the output folder already, by what .stitchcuda says of it.
#pragma once

#include <map>
#include <string>

#include "agents/optimize.h"

namespace stitch::agents {

using ProgramFacts = std::map<std::string, std::string>;

// What a run with these options will say of its program, but for the time of a call.
ProgramFacts facts_of(const OptimizeOptions& options, bool judged_fully);
// Why the one that is there is the better one; empty if it is not, or nobody can tell: another task, another
// numerics class, another measure. Without a time, by how they were judged alone.
std::string why_better(const ProgramFacts& there, const ProgramFacts& fresh);

// Before the work: the folder can be written, and nothing in it is sure to be better.
Result<void> check_place(const OptimizeOptions& options);

}  // namespace stitch::agents
