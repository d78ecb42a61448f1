// Which technique implements each region.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

// Products, convolutions, attention and recurrences by the techniques that are expected to be fastest.
Result<Plan> choose_techniques(const Context& context, Plan plan, const Catalogue& catalogue);
// FP32 products bound by arithmetic on tensor cores, by techniques that keep FP32's accuracy.
Result<Plan> use_tensor_cores(const Context& context, Plan plan, const Catalogue& catalogue);
// The same in sums a quarter as long: for whatever the first way was too coarse.
Result<Plan> use_tensor_cores_finely(const Context& context, Plan plan, const Catalogue& catalogue);

}  // namespace stitch::plan
