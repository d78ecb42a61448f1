// Which regions run concurrently: independent chains of kernels that are too small to fill a GPU.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

// Makes sections of up to four branches. Existing sections stay unchanged.
Result<Plan> run_side_by_side(const Context& context, Plan plan, const Catalogue& catalogue);

}  // namespace stitch::plan
