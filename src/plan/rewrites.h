// Which rewrites of a graph pay on a GPU. They are passes (passes/), since a task's graph is also what its
// programs are checked by; where they apply is decided here.
#pragma once

#include "graph/rewrite_limits.h"
#include "plan/technique.h"

namespace stitch::plan {

RewriteLimits rewrite_limits(const GpuSpec& gpu, const Catalogue& catalogue);

}  // namespace stitch::plan
