// Which regions run side by side: chains that don't read from each other, of kernels too small to fill a GPU.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

// Sections of up to four branches. What is already in one stays as it is.
Result<Plan> run_side_by_side(const Context& context, Plan plan, const Catalogue& catalogue);

}  // namespace stitch::plan
