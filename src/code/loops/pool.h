// Pools with large or overlapping windows: a block computes a tile of adjacent results from its part of the
// input, which it reads once.
#pragma once

#include <optional>

#include "code/loops/kernel.h"

namespace stitch::code::loops {

// Empty if the region's only pool isn't of that kind; then each result reads its own window.
std::optional<RegionCode> write_pool(const RegionRequest& request);

}  // namespace stitch::code::loops
