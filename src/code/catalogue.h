// The table of all techniques.
#pragma once

#include "code/technique.h"

namespace stitch::code {

// For the Planner, best first within a kind.
const plan::Catalogue& catalogue();
// The Coder's side of a region's technique.
const Technique& technique_of(const plan::Region& region);

}  // namespace stitch::code
