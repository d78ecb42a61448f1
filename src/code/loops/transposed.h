// Loops that read NHWC and write NCHW: a block computes a tile along channels and writes it along pixels,
// through shared memory, so that both sides are coalesced.
#pragma once

#include <optional>

#include "code/loops/loop.h"

namespace stitch::code::loops {

// `width`: channels per vector. Empty for other layouts, small images, or if other operands are NCHW.
std::optional<Kernel> transposed_kernel(const RegionRequest& request, const Place& write,
                                        const std::string& name, int64_t width, const MakeEmitter& make);

}  // namespace stitch::code::loops
