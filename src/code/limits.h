// Within which limits the graph of a task is rewritten. A program and what judges it need the same graph.
#pragma once

#include "base/file.h"
#include "gpu/gpu_spec.h"
#include "graph/rewrite_limits.h"

namespace stitch::code {

RewriteLimits limits_on(const GpuSpec& gpu);
// Of the GPU that the program's plan is for; on `here` if it has none.
RewriteLimits limits_of(const fs::path& program, const GpuSpec& here);

}  // namespace stitch::code
