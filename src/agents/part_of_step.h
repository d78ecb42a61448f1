// A step that failed in one region is taken for the others.
#pragma once

#include <optional>
#include <string>

#include "agents/ledger.h"
#include "plan/plan.h"

namespace stitch::agents {

// The region to blame for the last try, if the Verifier found one; else empty.
std::string wrong_region_of(const Ledger& ledger);

// `after` with what changed together with this region as it was `before`. Nothing where that is no change at
// all, or all of it.
std::optional<plan::Plan> without_region(const Graph& graph, const plan::Plan& before,
                                         const plan::Plan& after, const std::string& region);

}  // namespace stitch::agents
