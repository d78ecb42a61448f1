// The card of facts of a region, the same for Planner, Coder and Verifier: what it takes and what of that is
// measured, its floor and what sets it, how its neighbours store what it reads and writes, what was tried.
#pragma once

#include "agents/roles.h"

namespace stitch::agents {

std::string facts_of(const Situation& now, const plan::Plan& plan, const plan::Region& region);
// A line for each region of the plan, furthest from its floor first.
std::string facts_of(const Situation& now, const plan::Plan& plan);

// One sentence: what limits a region of `seconds` with this floor.
std::string limit_of(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
                     double seconds);

}  // namespace stitch::agents
