// Fusions that delay a region until another one can keep more memory alive; this limits them.
#pragma once

#include <functional>

#include "plan/regions/grouping.h"
#include "plan/technique.h"

namespace stitch::plan {

// May a fusion delay the earlier group until the later one? Always, or only if that keeps no more memory
// alive.
using MayDelay = std::function<bool(const Grouping& groups, size_t earlier, size_t later)>;

// Fuses without regard for memory, unless the plan then needs more than the model run node by node.
Result<Plan> fuse_within_memory(const Context& context, const Plan& plan,
                                const std::function<Result<Plan>(const MayDelay&)>& fuse);

}  // namespace stitch::plan
