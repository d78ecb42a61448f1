// How our convolutions' kernels divide their work.
#pragma once

#include <optional>
#include <string>

#include "code/products/convolution/convolution.h"
#include "code/region_code.h"
#include "plan/technique.h"

namespace stitch::code {

struct ImplicitConvolution {
  using Three = Convolution::Three;
  // Result: phases · pixel + phase - before; weights: the model's taps, kernel: those of the first phase.
  Three size_in, size_out, result, kernel, weights, stride, padding, dilation, phases{1, 1, 1},
      before{0, 0, 0};
  Three tile{1, 1, 1}, pool{1, 1, 1};
  bool pool_max = false;
  int64_t chunk = 1;  // octets of channels in shared memory at a time

  // The same as in ImplicitTile.
  int64_t blocks = 0, shared_bytes = 0, packed = 0;
  int64_t in_registers = 0;  // octets of the next chunk prefetched per thread
  double products = 0;       // multiplications on tensor cores, including padding
};

// A pool after the convolution and its pointwise epilogue, and the region without it.
struct PooledConvolution {
  plan::Region without;
  const Node* pool = nullptr;
  Convolution::Three window{1, 1, 1};
};
// Empty: no pool, or its windows don't fit a tile.
std::optional<PooledConvolution> pooled_of(const Graph& graph, const plan::Region& region);

// Empty: not supported by the kernel. `exact`: three products of halves.
std::optional<ImplicitConvolution> implicit_of(const GpuSpec& gpu, const Convolution& convolution, bool exact,
                                               const std::optional<PooledConvolution>& pooled);

// The same convolution over other images with its tile.
ImplicitConvolution with_tile_of(const ImplicitConvolution& decided, const Convolution& convolution,
                                 bool exact);

// For kernels/conv_implicit.h.
std::string implicit_struct(const Convolution& convolution, const ImplicitConvolution& walked,
                            const std::string& name);

// How the warps of kernels/conv_pointwise_nhwc.h divide a product of pixels and filters.

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
