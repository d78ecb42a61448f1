// Fusion boundaries: which nodes become one region.
#pragma once

#include <functional>

#include "plan/regions/grouping.h"
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

// Fusions that delay a region until another one can keep more memory alive; this limits them.
// May a fusion delay the earlier group until the later one? Always, or only if that keeps no more memory
// alive.
using MayDelay = std::function<bool(const Grouping& groups, size_t earlier, size_t later)>;

// Fuses without regard for memory, unless the plan then needs more than the model run node by node.
Result<Plan> fuse_within_memory(const Context& context, const Plan& plan,
                                const std::function<Result<Plan>(const MayDelay&)>& fuse);

// Which regions run concurrently: independent chains of kernels that are too small to fill a GPU.
// Makes sections of up to four branches. Existing sections stay unchanged.
Result<Plan> run_side_by_side(const Context& context, Plan plan, const Catalogue& catalogue);

}  // namespace stitch::plan
