// Grouped products, as in a mixture of experts: tiles on tensor cores, or one thread per element.
#pragma once

#include "code/region_code.h"

namespace stitch::code::loops {

Result<void> accepts_grouped(const plan::Context& context, const plan::Region& region);
Result<RegionCode> write_grouped(const RegionRequest& request);
// Whether it uses tiles on tensor cores.
bool groups_in_tiles(const plan::Context& context, const plan::Region& region);

}  // namespace stitch::code::loops
