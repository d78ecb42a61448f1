// scatter and index_put of any size, as loops over their results; and sort and topk.
#pragma once

#include "code/region_code.h"

namespace stitch::code::loops {

Result<void> accepts_scatter(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_scatter(const RegionRequest& request);
Result<void> accepts_sort(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_sort(const RegionRequest& request);

}  // namespace stitch::code::loops
