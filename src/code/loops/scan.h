// Running sums, products and extremes: a block goes along a row in chunks and carries over, or a thread goes
// along a column of its own.
#pragma once

#include "code/region_code.h"

namespace stitch::code::loops {

Result<void> accepts_scan(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_scan(const RegionRequest& request);

}  // namespace stitch::code::loops
