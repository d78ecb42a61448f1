// Loops that read NHWC and write NCHW: a block computes a tile along the channels and writes it along the
// pixels, through shared memory, so that both sides move whole lines.
#pragma once

#include <optional>

#include "code/loops/loop.h"

namespace stitch::code::loops {

// `width`: channels of a vector. Nothing where the image is not like that, too small, or lies beside others
// that are read as NCHW.
std::optional<Kernel> transposed_kernel(const RegionRequest& request, const Place& write,
                                        const std::string& name, int64_t width, const MakeEmitter& make);

}  // namespace stitch::code::loops
