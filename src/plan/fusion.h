// Fusion boundaries: which nodes become one region.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

// What follows a product and only it, inside its region.
Result<Plan> fuse_epilogues(const Context& context, Plan plan, const Catalogue& catalogue);
// What an image is multiplied with, element by element, inside the region of the product that reads the
// result and nobody else does: for techniques that can do so while they read it.
Result<Plan> fuse_gates(const Context& context, Plan plan, const Catalogue& catalogue);
// A pool, with what comes before it element by element, inside the region of the convolution in fp16 that it
// reads, where somebody takes the image as it lies and both together are expected to be faster.
Result<Plan> fuse_pools(const Context& context, Plan plan, const Catalogue& catalogue);
// Element-wise nodes and reductions, producers into their only consumers, as far as one kernel can go.
Result<Plan> fuse_loops(const Context& context, Plan plan, const Catalogue& catalogue);

// Chains of element-wise nodes over weights alone: kernels of a program's start, as few as can be.
Result<Plan> fuse_constants(const Context& context, Plan plan, const Catalogue& catalogue);

}  // namespace stitch::plan
