// The card of facts of a region, the same for Planner, Coder and Verifier: what it takes and what of that is
// measured, its floor and what sets it, how its neighbours store what it reads and writes, what was tried.
#pragma once

#include <string>

#include "agents/roles.h"
#include "plan/technique.h"

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

// What a region may become without new code: the techniques that accept it, their offers and knobs, the
// neighbours it may be joined with. For prompts of the Planner and of the Coder.

// One region: its present implementation, then the others.
std::string choices_of(const plan::Context& context, const plan::Plan& plan, const plan::Region& region,
                       const plan::Catalogue& catalogue);
// All regions, those of one kind together, and the neighbours that may be joined. Above `limit` bytes without
// the knobs of techniques that aren't chosen.
std::string choices_of(const plan::Context& context, const plan::Plan& plan, const plan::Catalogue& catalogue,
                       size_t limit);
// Regions that write what this one reads, and those that read what it writes, in the plan's order.
std::vector<const plan::Region*> neighbours(const plan::Plan& plan, const plan::Region& region);

}  // namespace stitch::agents
