// Fusion boundaries: which nodes become one region.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

// Element-wise nodes that only a product's result feeds join its region.
Result<Plan> fuse_epilogues(const Context& context, Plan plan, const Catalogue& catalogue);
// An element-wise multiplication of an image (a gate) joins the region of the only product that reads it, for
// techniques that can apply it while loading.
Result<Plan> fuse_gates(const Context& context, Plan plan, const Catalogue& catalogue);
// A pool, with the element-wise nodes before it, joins the region of the fp16 convolution that it reads,
// where a technique accepts the layout and the estimate for both together is lower.
Result<Plan> fuse_pools(const Context& context, Plan plan, const Catalogue& catalogue);
// Element-wise nodes and reductions: producers are fused into their only consumers, as far as one kernel can
// go.
Result<Plan> fuse_loops(const Context& context, Plan plan, const Catalogue& catalogue);

// Chains of element-wise nodes over weights alone run once, when a program is created: fused into few
// kernels.
Result<Plan> fuse_constants(const Context& context, Plan plan, const Catalogue& catalogue);

}  // namespace stitch::plan
