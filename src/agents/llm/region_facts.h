// The card of facts of a region, the same for Planner, Coder and Verifier: what it takes and what of that is
// measured, its floor and what sets it, how its neighbours store what it reads and writes, what was tried.
#pragma once

#include "agents/roles.h"

namespace stitch::agents {

struct RegionTime {
  double seconds = 0;
  bool measured = false;  // in the best program's call; else estimated
};
RegionTime time_of(const Situation& now, const plan::Plan& plan, const plan::Region& region);

std::string facts_of(const Situation& now, const plan::Plan& plan, const plan::Region& region);
// A line for each region of the plan, furthest from its floor first.
std::string facts_of(const Situation& now, const plan::Plan& plan);

// What limits a region of `seconds`, and one sentence that says so.
enum class Limit : uint8_t { at_floor, launches, conversions, memory, arithmetic };
Limit limit_of(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
               double seconds);
std::string limit_text(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
                       double seconds);

}  // namespace stitch::agents
