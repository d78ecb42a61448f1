// What a region may become without new code: the techniques that accept it, their offers and knobs, the
// neighbours it may be joined with. For prompts of the Planner and of the Coder.
#pragma once

#include <string>

#include "plan/technique.h"

namespace stitch::agents {

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
