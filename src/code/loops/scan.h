// Running sums, products and extremes: a block walks a row in chunks with a carry, or a thread walks a row of
// its own.
#pragma once

#include "code/region_code.h"

namespace stitch::code::loops {

Result<void> accepts_scan(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_scan(const RegionRequest& request);

}  // namespace stitch::code::loops
