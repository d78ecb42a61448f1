// Row reductions: softmax, norms, sums and so on, with everything pointwise around them. One kernel if a
// row's threads can do it all; otherwise stages.
#pragma once

#include "code/loops/kernel.h"

namespace stitch::code::loops {

Result<void> accepts_row(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_row(const RegionRequest& request);
Result<void> accepts_batch_norm(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_batch_norm(const RegionRequest& request);

}  // namespace stitch::code::loops
