// Which convolutions multiply in fp16 and which values are stored in fp16: the most time saved within the
// error budget, from measured errors.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

// All eligible convolutions and the values between them, or none: if the measured errors fit the budget.
Result<Plan> store_all_half(const Context& context, Plan plan, const Catalogue& catalogue);
// Up to a share of the budget, with a margin because only one kind of input was measured. The plan is
// unchanged without measurements, or if it has fp16 already.
Result<Plan> store_half_within_budget(const Context& context, Plan plan, const Catalogue& catalogue);
// For models where the measured errors were too optimistic.
Result<Plan> store_half_within_half_the_budget(const Context& context, Plan plan, const Catalogue& catalogue);

// Values that products alone read, and round to ten bits anyway, are stored in fp16 by the region that makes
// them: half the bytes, no conversion on every run, and no error beyond what the products add. In class tf32,
// with measured rounding errors.
Result<Plan> store_half_operands(const Context& context, Plan plan, const Catalogue& catalogue);

}  // namespace stitch::plan
