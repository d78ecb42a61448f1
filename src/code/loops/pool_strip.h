// Pools along one dimension without strides: a warp has a strip of the input in its registers and shifts it
// (kernels/loops_window.h), so that a window of so many taps takes as many steps as its count has bits.
#pragma once

#include <optional>

#include "code/loops/pool_shape.h"

namespace stitch::code::loops {

// Nothing for other pools.
std::optional<RegionCode> write_pool_strips(const RegionRequest& request, const Pool& pool);

}  // namespace stitch::code::loops
