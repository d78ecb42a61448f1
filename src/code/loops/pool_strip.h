// Pools along one dimension with stride 1: a warp holds a strip of the input in registers and shifts it
// (kernels/loops_window.h), so that a window takes as many steps as its size has bits.
#pragma once

#include <optional>

#include "code/loops/pool_shape.h"

namespace stitch::code::loops {

// Empty for other pools.
std::optional<RegionCode> write_pool_strips(const RegionRequest& request, const Pool& pool);

}  // namespace stitch::code::loops
