// Decisions about matrix products.
#pragma once

#include "plan/fusion.h"

namespace stitch::plan {

// Views that only a product reads, and constants that only it needs, go into its region: a transpose is read
// where it lies, a constant is a number in the code.
Result<Plan> take_views(const Graph& graph, Plan plan, const Techniques& techniques);
// FP32 products bound by arithmetic on fp16 tensor cores, operands split in two.
Result<Plan> split_products(const Graph& graph, Plan plan, const Techniques& techniques);
// The same in sums a quarter as long: for whatever the first way was too coarse.
Result<Plan> split_products_finely(const Graph& graph, Plan plan, const Techniques& techniques);

}  // namespace stitch::plan
