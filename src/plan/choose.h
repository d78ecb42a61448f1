// Which technique implements each region.
#pragma once

#include <string>
#include <vector>

#include "plan/technique.h"

namespace stitch::plan {

// Products, convolutions, attention and recurrences get the techniques with the least estimated time.
Result<Plan> choose_techniques(const Context& context, Plan plan, const Catalogue& catalogue);
// Convolutions, recurrences and batch norms get the technique that rounds as PyTorch's, whatever its time.
Result<Plan> match_pytorch(const Context& context, Plan plan, const Catalogue& catalogue);
// Compute-bound FP32 products move to fp16 tensor cores, with techniques that keep FP32's accuracy, or TF32's
// in class tf32.
Result<Plan> use_tensor_cores(const Context& context, Plan plan, const Catalogue& catalogue);
// The same with accumulation chains a quarter as long, for models where the first is too inaccurate.
Result<Plan> use_tensor_cores_finely(const Context& context, Plan plan, const Catalogue& catalogue);

// Regions among these whose technique can't be written with the plan's layouts get the way with the least
// estimated time that can.
Result<Plan> replace_declined(const Context& context, Plan plan, const std::vector<std::string>& regions,
                              const Catalogue& catalogue);

}  // namespace stitch::plan
