// fp16 spent like money: which convolutions multiply in it and which values are stored in it, by the time
// that saves and the error that it was measured to add.
#pragma once

#include "plan/technique.h"

namespace stitch::plan {

// Every convolution that may be, and all between them, or nothing: where the measured errors leave room.
Result<Plan> store_all_half(const Context& context, Plan plan, const Catalogue& catalogue);
// Up to a share of the budget that leaves room for what a measurement on one kind of input can't know. The
// plan as it is where nobody measured, or where it has fp16 already.
Result<Plan> store_half_within_budget(const Context& context, Plan plan, const Catalogue& catalogue);
// For a model whose measured errors promised too much.
Result<Plan> store_half_within_half_the_budget(const Context& context, Plan plan, const Catalogue& catalogue);

}  // namespace stitch::plan
