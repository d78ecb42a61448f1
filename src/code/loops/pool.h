// Pools whose windows are large or overlap: a block makes a tile of neighbouring results from its share of
// the input, which it reads once.
#pragma once

#include <optional>

#include "code/loops/kernel.h"

namespace stitch::code::loops {

// Nothing where the region's only pool is not of that kind; then each result looks at its own window.
std::optional<RegionCode> write_pool(const RegionRequest& request);

}  // namespace stitch::code::loops
