// A step that failed in one region is applied to the others.
#pragma once

#include <optional>
#include <string>

#include "agents/loop/ledger.h"
#include "plan/plan.h"

namespace stitch::agents {

// The region that made a program fail, if the Verifier found one that is wrong alone; else empty.
std::string wrong_region_of(const LedgerEntry& entry);

// `after`, with the change that contains this region undone. Nothing if that undoes all changes or none.
std::optional<plan::Plan> without_region(const Graph& graph, const plan::Plan& before,
                                         const plan::Plan& after, const std::string& region);

}  // namespace stitch::agents
