// How the warps of kernels/conv_pointwise_nhwc.h divide a product of pixels and filters.
#pragma once

#include "code/region_code.h"
#include "plan/technique.h"

namespace stitch::code {

// NhwcTile's parameters in the generated struct.
struct NhwcTiles {
  int64_t pixel_tiles = 1, filter_tiles = 1, depth_warps = 1;

  int64_t slices(int64_t filters) const;
};
// The region's choices, otherwise the tile expected to finish first.
NhwcTiles nhwc_tiles(const plan::Context& context, const plan::Region& region, int64_t pixels,
                     int64_t channels, int64_t filters, DType type, bool exact);
std::vector<plan::Knob> nhwc_knobs();
// The kernel's expected time with that tile, without its launch.
double nhwc_seconds(const plan::Context& context, int64_t pixels, int64_t channels, int64_t filters,
                    DType type, bool exact);

// Channels of a pixel per step of a warp.
int64_t nhwc_step(DType type);

}  // namespace stitch::code
