// Values that products alone read, and round to ten bits anyway, are stored in fp16 by the region that makes
// them: half the bytes, no conversion on every run, and no error beyond what the products add. In class tf32,
// with measured rounding errors.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

Result<Plan> store_half_operands(const Context& context, Plan plan, const Catalogue& catalogue);

}  // namespace stitch::plan
